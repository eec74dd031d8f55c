import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** What one other tool reported about one application. */
export interface PeerRow {
  app: string;
  tool: string;
  seconds: number;
  reported: string;
  effort: string;
}

interface At {
  target: string;
  spec?: string;
}

interface Place {
  at: At;
  document: string;
  cwd: string;
  headers: string[];
}

interface Peer {
  tool: string;
  /** The programs that it needs, from `GATE_PEERS` or the system. */
  programs: string[];
  effort: string;
  run: (place: Place, program: (name: string) => string) => SpawnSyncReturns<string>;
  report: (ran: SpawnSyncReturns<string>, place: Place) => string;
}

/** The folder below which `npm install` has put the other tools. */
const INSTALLED = process.env["GATE_PEERS"];
const LIMIT_MS = 120_000;

const PEERS: Peer[] = [
  {
    tool: "stepci 2.8",
    programs: ["stepci"],
    effort: "generates a workflow from the document; one login has to be added by hand",
    run: ({ document, cwd }, program) => {
      call(program("stepci"), ["generate", document, "workflow.yml"], cwd);
      return call(program("stepci"), ["run", "workflow.yml"], cwd);
    },
    report: ({ stdout }) => lineOf(stdout, /(Tests|Steps):.*/g),
  },
  {
    tool: "dredd 14.1",
    programs: ["dredd"],
    effort: "needs a document with examples and a hook for each id",
    run: ({ at, document, cwd, headers }, program) =>
      call(program("dredd"), [
        ...[document, at.target, "--loglevel", "error"],
        ...headers.flatMap((header) => ["--header", header]),
      ], cwd),
    report: ({ stdout, stderr }, { cwd }) =>
      lineOf(`${stdout}${stderr}`.replaceAll(`${cwd}/`, ""), /\d+ passing.*|error: .*/g),
  },
  {
    tool: "newman 6.2",
    programs: ["openapi2postmanv2", "newman"],
    effort: "converts the document; every check would have to be written",
    run: ({ at, document, cwd }, program) => {
      call(program("openapi2postmanv2"), ["-s", document, "-o", "collection.json"], cwd);
      const base = ["--env-var", `baseUrl=${at.target}`];
      return call(program("newman"), ["run", "collection.json", ...base, "--bail"], cwd);
    },
    report: ({ stdout }) =>
      lineOf(stdout, /(?:requests|assertions) │\s+\d+ │\s+\d+/g).replaceAll(/[│\s]+/g, " "),
  },
  {
    tool: "hey",
    programs: ["hey"],
    effort: "one address at a time; only counts statuses",
    run: ({ at, cwd, headers }, program) =>
      call(program("hey"), ["-n", "200", "-c", "10", ...flags(headers), at.target], cwd),
    report: ({ stdout }) => lineOf(stdout, /\[\d{3}\]\s+\d+ responses/g),
  },
  {
    tool: "ab",
    programs: ["ab"],
    effort: "one address at a time; only counts failures",
    run: ({ at, cwd, headers }, program) =>
      call(program("ab"), ["-q", "-n", "200", "-c", "10", ...flags(headers), `${at.target}/`], cwd),
    report: ({ stdout }) => lineOf(stdout, /(Failed requests|Non-2xx responses):.*/g),
  },
];

/** Runs every other tool that can be had on one application. */
export async function comparePeers(
  app: string,
  at: At,
  logins: () => string[],
): Promise<PeerRow[]> {
  const wanted = PEERS.filter(({ programs }) => programs.every((name) => programOf(name) !== null));
  if (wanted.length === 0) return [];
  const first = logins().find((one) => one.startsWith("--as=")) ?? "";
  const headers = first === "" ? [] : [first.slice(first.indexOf("=", 5) + 1)];
  const cwd = mkdtempSync(join(tmpdir(), "peers-"));
  try {
    const document = join(cwd, "openapi.json");
    writeFileSync(document, await documentOf(at));
    const place = { at, document, cwd, headers };
    return wanted.map((peer) => {
      const started = performance.now();
      const ran = peer.run(place, (name) => programOf(name)!);
      const seconds = Math.round((performance.now() - started) / 100) / 10;
      const { tool, effort } = peer;
      return { app, tool, seconds, reported: peer.report(ran, place), effort };
    });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function programOf(name: string): string | null {
  const own = INSTALLED === undefined ? "" : join(INSTALLED, "node_modules/.bin", name);
  if (own !== "" && existsSync(own)) return own;
  return spawnSync("which", [name]).status === 0 ? name : null;
}

function call(program: string, argv: string[], cwd: string): SpawnSyncReturns<string> {
  return spawnSync(program, argv, { cwd, encoding: "utf8", timeout: LIMIT_MS });
}

function flags(headers: string[]): string[] {
  return headers.flatMap((header) => ["-H", header]);
}

async function documentOf({ target, spec }: At): Promise<string> {
  if (spec === undefined) return await (await fetch(`${target}/openapi.json`)).text();
  return spec.startsWith("http") ? await (await fetch(spec)).text() : readFileSync(spec, "utf8");
}

/** The lines of a report that hold its figures, without colours; else that it said nothing. */
function lineOf(text: string, pattern: RegExp): string {
  // deno-lint-ignore no-control-regex -- tools colour their reports
  const plain = text.replaceAll(/\u001b\[[0-9;]*m/g, "");
  const found = [...new Set(plain.match(pattern) ?? [])].map((one) => one.trim());
  return found.length === 0 ? "nothing" : found.slice(0, 3).join("; ").slice(0, 160);
}
