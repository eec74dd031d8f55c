/**
 * A daemon that ends itself as `kill -9` does when it comes to the step named in CRASH_AT, and
 * writes each step it passes to CRASH_LOG.
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
