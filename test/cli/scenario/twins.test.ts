import { expect, onTestFinished, test } from "vitest";
import { wilson } from "../../../cli/scenario/summary.ts";
import { execs, runJson } from "./harness.ts";
import { isAtHand, rate, RUNTIMES, startTwins, WINDOWS } from "./twins.ts";

/** Rounds of ten requests per window; guarded twins get 200 rounds in all. */
const ROUNDS = { plain: 20, secure: 5 };

interface Seen {
  status: string;
  evidence: { detection: { rounds: number; failed: number }; race: { strategy: string } };
}

async function detect(url: string, rounds: number): Promise<Seen[]> {
  const race = { mode: "http", method: "POST", body: "{}", concurrency: 10, rounds };
  const list = WINDOWS.flatMap((window) => [
    { ...race, path: `/open/${window}/{{uniq}}` },
    { ...race, path: `/guarded/${window}/{{uniq}}` },
  ]);
  const { executions } = await runJson(execs(...list), "--target", url, "--insecure");
  return executions;
}

test.for(Object.keys(RUNTIMES) as (keyof typeof RUNTIMES)[])(
  "on %s the open twin fails and the guarded twin passes, over HTTP/1.1 and HTTP/2",
  async (runtime, { skip }) => {
    skip(!isAtHand(runtime), `${runtime} is not on PATH: deno task test puts it there`);
    const twins = await startTwins(runtime);
    onTestFinished(twins.stop);
    const table: Record<string, Record<string, string>> = {};
    for (const [scheme, rounds] of Object.entries(ROUNDS)) {
      const seen = await detect(twins[scheme as keyof typeof ROUNDS], rounds);
      const strategy = scheme === "plain" ? "last-byte" : "h2";
      expect(seen.map(({ evidence }) => evidence.race.strategy)).toEqual(Array(8).fill(strategy));
      WINDOWS.forEach((window, n) => {
        const [open, guarded] = [seen[2 * n]!, seen[2 * n + 1]!].map(({ evidence }) =>
          evidence.detection.failed
        );
        (table[window] ??= {})[`${runtime}, ${strategy}`] = rate(open!, rounds);
        expect({ window, alarms: guarded }).toEqual({ window, alarms: 0 });
        if (strategy === "h2") expect({ window, open }).toEqual({ window, open: rounds });
        // A few rounds cannot prove a rate of 95 %, but they can disprove it.
        else if (/ms/.test(window)) expect(wilson(open!, rounds).high).toBeGreaterThanOrEqual(0.95);
      });
    }
    console.table(table);
  },
);
