/**
 * A daemon that appends each step it reaches to the file in $CRASH_LOG. It kills itself with SIGKILL
 * at the step in $CRASH_AT.
 */
import { appendFileSync } from "node:fs";
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
      if (step === CRASH_AT) process.kill(process.pid, "SIGKILL");
    },
  },
});
