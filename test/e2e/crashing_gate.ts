/**
 * A daemon that appends each step it reaches to the file in $CRASH_LOG. It kills itself with SIGKILL
 * at the step that the file in $CRASH_AT names by then.
 */
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import { v7 } from "uuid";
import { startGate } from "../../server/start.ts";

const { GATE_HOME: home, GATE_PORT: port, CRASH_AT, CRASH_LOG } = process.env;

await startGate({
  port: Number(port),
  environment: {
    home: home!,
    now: Date.now,
    id: v7,
    log: () => {},
    fault(step) {
      appendFileSync(CRASH_LOG!, `${step}\n`);
      if (step === readFileSync(CRASH_AT!, "utf8")) process.kill(process.pid, "SIGKILL");
    },
  },
});
