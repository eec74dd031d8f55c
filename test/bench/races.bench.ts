import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { raceRequests } from "../../cli/scenario/execute/race/race.ts";
import type { Strategy } from "../../cli/scenario/execute/race/strategy.ts";
import { parseTarget } from "../../cli/scenario/execute/target.ts";
import { judgeRace } from "../../cli/scenario/execute/verdict.ts";
import {
  rate,
  RUNTIMES,
  startTwins,
  type Twins,
  type Window,
  WINDOWS,
} from "../cli/scenario/twins.ts";
import { fetchTool } from "./fetched_tool.ts";
import { compare, least } from "./figures.ts";

const ROUNDS = 40;
const GUARDED_ROUNDS = 25; // 8 cells give 200 rounds per runtime
const SLOW_ROUNDS = 10; // autocannon takes a second for each volley
const AUTOCANNON = "autocannon@9.0.0";

type Attack = (path: string) => Promise<boolean>;

/** Measures how often ten concurrent requests expose a race, by window length and by client. */
export async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gate-bench-"));
  const autocannon = fetchTool(AUTOCANNON, "autocannon", folder);
  try {
    for (const runtime of Object.keys(RUNTIMES) as (keyof typeof RUNTIMES)[]) {
      const twins = await startTwins(runtime);
      try {
        await compareAttacks(`against ${runtime}`, twins, autocannon);
      } finally {
        await twins.stop();
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compareAttacks(
  title: string,
  twins: Twins,
  autocannon: string | null,
): Promise<void> {
  const attacks: Record<string, Attack> = {
    "fetch, all at once": (path) => byFetch(twins.plain + path),
    ...(autocannon ? { autocannon: (path) => byAutocannon(autocannon, twins.plain + path) } : {}),
    "ours, last byte": (path) => byUs(twins.plain, path, "last-byte"),
    "ours, HTTP/2": (path) => byUs(twins.secure, path, "h2"),
  };
  const table: Record<string, Record<string, string>> = {};
  const found: Record<string, number> = {};
  let alarms = 0;
  for (const window of WINDOWS) {
    const row: Record<string, string> = table[`${window} (${title})`] = {};
    for (const [name, attack] of Object.entries(attacks)) {
      const rounds = name === "autocannon" ? SLOW_ROUNDS : ROUNDS;
      const caught = await count(attack, "open", window, rounds);
      row[name] = rate(caught, rounds);
      found[`${name} ${window}`] = caught / rounds;
      if (name.startsWith("ours")) alarms += await count(attack, "guarded", window, GUARDED_ROUNDS);
    }
  }
  console.table(table);
  const cells = (name: string, windows: readonly Window[]) =>
    Math.min(...windows.map((window) => 100 * found[`${name} ${window}`]!));
  least("last byte from 1 ms on", cells("ours, last byte", ["1ms", "5ms"]), {
    least: 95,
    unit: "%",
  });
  least("HTTP/2 at every window", cells("ours, HTTP/2", WINDOWS), { least: 100, unit: "%" });
  compare(`alarms in ${8 * GUARDED_ROUNDS} guarded volleys`, alarms, { most: 0, unit: "alarms" });
}

let volleys = 0;

/** Counts volleys with more than one winner. Each volley sends ten requests to a fresh resource. */
async function count(
  attack: Attack,
  kind: "open" | "guarded",
  window: Window,
  rounds: number,
): Promise<number> {
  let caught = 0;
  for (let round = 0; round < rounds; round++) {
    if (await attack(`/${kind}/${window}/${process.pid}-${++volleys}`)) caught++;
  }
  return caught;
}

async function byUs(url: string, path: string, strategy: Strategy): Promise<boolean> {
  const options = { timeout_ms: 10_000, insecure: true, race_strategy: strategy };
  const request = { method: "POST", path, headers: {}, body: "{}" };
  const { status, reason } = judgeRace(
    { mode: "http" },
    await raceRequests(parseTarget(url), request, 10, options),
  );
  if (status === "failed" && !/only one should/.test(reason)) throw new Error(`${url}: ${reason}`);
  return status === "failed";
}

async function byFetch(url: string): Promise<boolean> {
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => fetch(url, { method: "POST", body: "{}" })),
  );
  await Promise.all(answers.map((answer) => answer.body?.cancel()));
  return answers.filter(({ status }) => status === 200).length > 1;
}

function byAutocannon(program: string, url: string): Promise<boolean> {
  const args = ["-c", "10", "-a", "10", "-m", "POST", "-b", "{}", "--json", url];
  const said = execFileSync("node", [program, ...args], { stdio: ["ignore", "pipe", "ignore"] });
  return Promise.resolve(JSON.parse(String(said))["2xx"] > 1);
}
