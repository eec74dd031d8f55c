import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import type { Execution, Finding, Scenario } from "../../cli/scenario/schema.ts";
import { folder } from "../cli/scenario/harness.ts";
import { HOLES } from "./documented_holes.ts";
import { JUDGED, judgementOf } from "./judged.ts";
import { comparePeers, type PeerRow } from "./peers.ts";
import { type Measured, resultsOf } from "./results.ts";
import { EXECUTABLE, runTool } from "./tool.ts";
import { measureTwin, TWIN_NAMES, type TwinRow } from "./twins.ts";

/**
 * Measures the tool on applications that run already: vulnerable ones, whose documented holes it
 * should find, and products. `GATE_TARGETS` names a JSON file: `{"VAmPI": {"target":
 * "http://127.0.0.1:5000", "spec": "openapi3.yml", "start": ["./start.sh", "vampi"]}}`.
 */
interface Running {
  target: string;
  /** Left out: the document that the target serves. */
  spec?: string;
  /** Starts it afresh, and prints the options for its logins, one on each line. */
  start?: string[];
  as?: string[];
  as_value?: string[];
}

const path = process.env["GATE_TARGETS"];
const running: Record<string, Running> = path ? JSON.parse(readFileSync(path, "utf8")) : {};
const apps = Object.keys(JUDGED);
if (path === undefined) {
  console.error(
    `\nSKIPPED, no vulnerable application was tested: GATE_TARGETS names no file.\n` +
      `Start ${apps.join(", ")} and give their addresses and two logins.\n`,
  );
}

/** Slow requests are included too, because the applications are there to be broken. */
const OPTIONS = ["--output", "json", "--try", "login-limit,slow-sql,slow-pattern"];

interface Run {
  findings: Finding[];
  scenarios: Scenario[];
  executions: Execution[];
  summary: { duration_ms: number; executed: number; untested: { operation: string }[] };
}

function loginsOf({ start, as = [], as_value = [] }: Running): string[] {
  const given = [
    ...as.flatMap((one) => ["--as", one]),
    ...as_value.flatMap((one) => ["--as-value", one]),
  ];
  if (start === undefined) return given;
  const [command, ...argv] = start;
  const printed = execFileSync(command!, argv, { cwd: dirname(path!), encoding: "utf8" });
  return [...given, ...printed.split("\n").filter((line) => line.startsWith("--"))];
}

async function measure(at: Running): Promise<Run> {
  const logins = loginsOf(at);
  const spec = at.spec === undefined ? [] : ["--spec", at.spec];
  const { stdout } = await runTool(
    folder(),
    "run",
    "--target",
    at.target,
    ...OPTIONS,
    ...spec,
    ...logins,
  );
  return JSON.parse(stdout);
}

/** The findings without the values of one run. */
function namesOf({ findings }: Run): string[] {
  return findings.map(({ family, operation }) => `${family} ${operation}`).sort();
}

/** The warnings of the run, which are no findings. */
function warningsOf({ scenarios, executions }: Run): string[] {
  return executions.flatMap(({ evidence }, n) =>
    ((evidence.warnings ?? []) as { code: string }[]).map(({ code }) =>
      `warning ${code} ${scenarios[n]!.operation}`
    )
  );
}

/** Passes that name no request that succeeded. */
function emptyPasses({ executions }: Run): number {
  return executions.filter(({ status, evidence }) => {
    const control = evidence.control as { status?: number } | undefined;
    // A redirect leads on from a form that was taken, or is what the document promises.
    return status === "passed" && !(control?.status! >= 200 && control?.status! < 400);
  }).length;
}

/** The results of fewer applications are printed, and not kept. */
const LEAST = 6;
const measured: Measured[] = [];
const peers: PeerRow[] = [];
const twins: TwinRow[] = [];

test.each(TWIN_NAMES)("twin: %s", async (name) => {
  const row = await measureTwin(name);
  twins.push(row);
  console.table([row]);
  const { missed, stray, guarded, unlike } = row;
  expect({ missed, stray, guarded, unlike }).toEqual({
    missed: [],
    stray: [],
    guarded: [],
    unlike: [],
  });
}, 300_000);

describe.skipIf(path === undefined)("applications of other authors", () => {
  test.each(Object.entries(running))("%s", async (name, at) => {
    const { holes = [], source = "" } = HOLES[name] ?? {};
    if (!JUDGED[name]) throw new Error(`No finding of ${name} was judged`);
    const run = await measure(at);
    const again = await measure(at);
    const names = namesOf(run);
    const told = [...names, ...warningsOf(run)];
    const rows = holes.map((hole) => ({
      hole: hole.name,
      shown: hole.found ? told.find((one) => hole.found!.test(one)) ?? null : null,
      missed: hole.missed ?? "",
      unseen: hole.unseen ?? "",
    }));
    const judged = run.findings.map((one) => ({
      finding: `${one.family} ${one.operation}`,
      severity: one.severity,
      again: namesOf(again).includes(`${one.family} ${one.operation}`),
      ...judgementOf(name, one),
    }));
    const { duration_ms, executed, untested } = run.summary;
    const operations = new Set(run.scenarios.map(({ operation }) => operation)).size;
    const figures = { operations, untested: untested.length, executed, duration_ms };
    const later = namesOf(again).filter((one) => !names.includes(one));
    const empty = emptyPasses(run);
    measured.push({ name, source, ...figures, empty, holes: rows, judged, later });
    console.table(rows);
    console.table(judged);
    expect(judged.filter(({ is }) => is === "not judged")).toEqual([]);
    expect(emptyPasses(run)).toBe(0);
    const expected = holes.filter((hole) => hole.found !== null).map((hole) => hole.name);
    expect(rows.filter((row) => row.shown !== null).map((row) => row.hole)).toEqual(expected);
    expect(namesOf(again)).toEqual(names);
  }, 1_200_000);

  test.each(Object.entries(running))("peers on %s", async (name, at) => {
    peers.push(...await comparePeers(name, at, () => loginsOf(at)));
  }, 600_000);

  test("at least 60 % of the holes, at most 5 % false alarms", () => {
    const holes = measured.flatMap((one) => one.holes).filter(({ unseen }) => unseen === "");
    const judged = measured.flatMap((one) => one.judged);
    const found = holes.filter(({ shown }) => shown !== null).length;
    const wrong = judged.filter(({ is }) => is === "false").length;
    console.log(`${found} of ${holes.length} holes, ${wrong} of ${judged.length} findings false`);
    expect(found / holes.length).toBeGreaterThanOrEqual(0.6);
    expect(wrong / judged.length).toBeLessThanOrEqual(0.05);
  });
});

afterAll(() => {
  // A run of a few applications must not replace the results of all.
  if (measured.length < LEAST) return;
  writeFileSync(
    fileURLToPath(new URL("./RESULTS.md", import.meta.url)),
    resultsOf({ measured, peers, twins, executable: EXECUTABLE !== undefined }, apps),
  );
});
