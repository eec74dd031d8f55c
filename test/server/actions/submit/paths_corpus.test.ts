import { spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Action } from "../../../../server/actions/schema.ts";
import { Daemon } from "../../../../server/daemon.ts";
import { GateError } from "../../../../server/errors.ts";
import type { Project } from "../../../../server/projects/project.ts";
import { startCpuClock } from "../../../cpu_clock.ts";
import { createTestEnvironment, testCaller } from "../../../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

interface Case {
  id: string;
  category: string;
  fixture: string;
  setup?: (string | number)[][];
  blocked?: string[];
  path: unknown;
  expect: "allow" | "deny" | "not_auto" | "no_escape" | "allow_or_hold" | "deny_or_error";
  final?: string;
  platform: string;
  reason: string;
  max_ms?: number;
  system?: boolean;
}

const corpus = JSON.parse(
  readFileSync(new URL("../../../corpora/paths.json", import.meta.url), "utf8"),
) as {
  policy: { defaultEffect: "allow"; blockedPaths: string[] };
  fixtures: Record<string, (string | number)[][]>;
  cases: Case[];
};

const HERE = new Set([
  "any",
  ...(process.platform === "win32" ? ["win32"] : ["posix"]),
  ...(process.getuid?.() === 0 ? [] : ["posix_nonroot"]),
  process.platform,
]);
const NEW = "written by the agent\n";
const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-paths-")));
const [root, user] = [join(base, "proj"), join(base, "home")];
const home = process.env.HOME;
let daemon: Daemon;
let project: Project;

beforeAll(async () => {
  process.env.HOME = user;
  mkdirSync(join(user, ".gate"), { recursive: true, mode: 0o700 });
  mkdirSync(root);
  writeConfig([]);
  daemon = await Daemon.open(createTestEnvironment(join(user, ".gate")).environment, {
    port: 47998,
  });
  project = await daemon.projects.get((await daemon.projects.register(root, PERSON)).id);
});

afterAll(async () => {
  process.env.HOME = home;
  await daemon.close();
  emptyFolder(base);
  rmSync(base, { recursive: true, force: true });
});

// Only the policy tests run the paths that could harm the real system.
const cases = corpus.cases.filter((one) => HERE.has(one.platform) && !one.system);

describe("each path of paths.json, submitted and approved, changes only the expected file", () => {
  test.each(cases)("$id $category: $reason", async (one) => {
    const sentinels = await build(one);
    const before = snapshot(base);
    const cpuMs = startCpuClock();
    const { submitted, held, approved } = await writeThrough(fill(one.path));
    if (one.max_ms !== undefined) expect(cpuMs()).toBeLessThan(one.max_ms);
    const changed = changesOf(before, snapshot(base));

    const own = one.expect === "allow" ? [fill(one.final)] : [];
    for (const path of sentinels.filter((path) => !own.includes(path))) {
      expect(changed).not.toContain(path);
    }
    for (const path of changed) expect(path.startsWith(`${root}/`), path).toBe(true);
    const isWritten = submitted?.status === "approved" && submitted.execution === "succeeded";
    switch (one.expect) {
      case "allow":
        expect({ submitted, isWritten }).toMatchObject({ isWritten: true });
        expect(readFileSync(fill(one.final) as string, "utf8")).toBe(NEW);
        expect(changed.filter((path) => !lstatSync(path).isDirectory())).toEqual([
          fill(one.final),
        ]);
        break;
      case "deny":
      case "deny_or_error":
        expect(isWritten || approved).toBe(false);
        expect(changed).toEqual([]);
        break;
      case "not_auto":
        expect(isWritten && !held).toBe(false);
        break;
      case "allow_or_hold":
        expect(isWritten || held).toBe(true);
    }
  });
});

async function writeThrough(path: unknown) {
  let submitted: Action | null = null;
  let approved = false;
  const { actions } = project;
  try {
    const input = { path, content: NEW };
    submitted = (await actions.submit({ tool: "write_file", input }, testCaller("agent"))).action;
    if (submitted.status === "pending") {
      const done = await actions.approve(submitted.id, {}, testCaller("reviewer"));
      approved = done.execution === "succeeded";
    }
  } catch (error) {
    expect(error).toBeInstanceOf(GateError);
    expect((error as GateError).status).toBeLessThan(500);
  }
  return { submitted, held: submitted?.status === "pending", approved };
}

/** Builds the case's files. Returns the paths whose bytes must not change. */
async function build(one: Case): Promise<string[]> {
  emptyFolder(base);
  mkdirSync(root);
  writeConfig(one.blocked ?? corpus.policy.blockedPaths);
  const steps = [...corpus.fixtures[one.fixture]!, ...(one.setup ?? [])]
    .map((step) => step.map(fill) as (string | number)[]);
  for (const step of steps) await run(step);
  return steps.filter(([step, , text]) => step === "write" && String(text).startsWith("SENTINEL"))
    .map(([, path]) => String(path));
}

function fill(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return value.replaceAll("{BASE}", base).replaceAll("{ROOT}", root).replaceAll("{HOME}", user);
}

function writeConfig(blockedPaths: string[]): void {
  // The corpus attacks on purpose, all in one session.
  const endless = { maxDenialsPerSession: 100_000, maxDenialsPerAgent: 100_000 };
  const config = { id: "paths", policies: { ...corpus.policy, ...endless, blockedPaths } };
  writeFileSync(join(root, "gate.config.json"), JSON.stringify(config));
}

/** Deletes everything except the daemon's own data. */
function emptyFolder(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (path === join(user, ".gate")) continue;
    if (entry.isDirectory()) {
      chmodSync(path, 0o755);
      emptyFolder(path);
      if (path !== user) rmdirSync(path);
    } else rmSync(path);
  }
}

async function run([step, ...args]: (string | number)[]): Promise<void> {
  const [first, second, third] = args as string[];
  if (step === "mkdir") return void mkdirSync(first!, { recursive: true });
  if (step === "chmod") return chmodSync(first!, parseInt(second!, 8));
  if (step === "rm") return rmSync(first!);
  const target = (step === "write" || step === "mkfifo" || step === "socket" ? first : second)!;
  if (step !== "symlink_chain") mkdirSync(dirname(target), { recursive: true });
  if (step === "write") return writeFileSync(first!, second!);
  if (step === "symlink") return symlinkSync(first!, second!);
  if (step === "hardlink") return linkSync(first!, second!);
  if (step === "mkfifo") return void spawnSync("mkfifo", [first!]);
  if (step === "socket") return await makeSocket(first!);
  if (step !== "symlink_chain") throw new Error(`Cannot build the fixture: no step "${step}"`);
  const length = Number(second);
  for (let at = 0; at < length; at++) {
    symlinkSync(at === length - 1 ? "src" : `${first}${at + 1}`, join(third!, `${first}${at}`));
  }
}

function makeSocket(path: string): Promise<void> {
  const server = createServer();
  onTestFinished(() => void server.close());
  return new Promise((resolve, reject) => {
    server.on("error", reject).listen(path, () => resolve());
  });
}

/** One line for each entry below the folder, without the daemon's own data. */
function snapshot(base: string): Map<string, string> {
  const found = new Map<string, string>();
  const look = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (path === join(base, "home", ".gate")) continue;
      if (entry.isSymbolicLink()) found.set(path, `link:${readlinkSync(path)}`);
      else if (entry.isFile()) found.set(path, `file:${readFileSync(path, "utf8")}`);
      else found.set(path, entry.isDirectory() ? "folder" : "special");
      if (entry.isDirectory()) look(path);
    }
  };
  look(base);
  return found;
}

function changesOf(before: Map<string, string>, after: Map<string, string>): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path));
}
