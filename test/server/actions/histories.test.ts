import fc from "fast-check";
import process from "node:process";
import { test } from "vitest";
import { Run } from "./history/run.ts";
import { step } from "./history/steps.ts";

/** `GATE_TEST_HISTORIES` sets the number of histories; `GATE_TEST_SEED` repeats a failed run. */
const RUNS = Number(process.env["GATE_TEST_HISTORIES"] ?? 40);
const SEED = Number(process.env["GATE_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

test(
  "the gate agrees with the model after any actions, decisions, commands, rollbacks and crashes",
  async () => {
    console.log(`${RUNS} histories, seed ${SEED}`);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (history) => {
        const run = await Run.open();
        try {
          for (const one of history) await run.step(one);
          await run.compare();
        } finally {
          await run.close();
        }
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: process.env["GATE_TEST_SHRINK"] === undefined },
    );
  },
  Math.max(240_000, RUNS * 3_000),
);
