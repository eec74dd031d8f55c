/** `deno task test`: runs every check in sections and prints one count at the end. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { installedBun, thisMachine } from "../dist/targets.ts";
import { type FileReport, REPORT_VARIABLE, UNNAMED } from "./section_report.ts";

interface Section {
  name: string;
  command: string[];
  /** The test files that Vitest runs, all when empty; without this, the command counts as one test. */
  files?: string[];
}

interface Count {
  passed: number;
  failed: number;
}

interface Outcome {
  passed: number;
  failures: string[];
  /** Tests that failed first and passed when their file ran again. */
  forgiven: string[];
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DENO = process.execPath;
const MAIN = "cli/main.ts";
const VITEST = ["run", "-c", "test/vitest.config.ts"];
const ON_DENO = [DENO, "run", "-A", "npm:vitest", ...VITEST];
const ON_NODE = ["node", "node_modules/vitest/vitest.mjs", ...VITEST];
const UNITS = ["runtime", "e2e", "browser"].map((folder) => `--exclude=test/${folder}/**`);
const RACES = "test/cli/scenario/race";
/** The beginnings of the paths whose code differs between runtimes: processes, files, sockets, crypto. */
const RUNTIME_TESTS = [
  "test/cli/hook",
  "test/cli/project_server",
  RACES,
  "test/mod.test.ts",
  "test/server/actions/execute/crash.test.ts",
  "test/server/app.test.ts",
  "test/server/audit",
  "test/server/auth",
  "test/server/daemon.test.ts",
  "test/server/db",
  "test/server/events",
  "test/server/guard",
  "test/server/http_corpus.test.ts",
  "test/server/mcp",
  "test/server/runtime",
  "test/server/start.test.ts",
];
const IN_CI = process.env["CI"] !== undefined;
/** With more failed files than this, nothing is run again. */
const MOST_AGAIN = 5;
const REPORTS = mkdtempSync(join(tmpdir(), "gate-test-"));
/** A file system in memory, where there is one: a ledger syncs each commit, and a disk is slow at it. */
const MEMORY = "/dev/shm";
const MEMORY_BYTES = 4 * 1024 ** 3;

const SECTIONS: Section[] = [
  { name: "install", command: [DENO, "install", "--frozen"] },
  // Otherwise the first program of a test prints its downloads.
  { name: "install for programs", command: [DENO, "install", "--frozen", "--entrypoint", MAIN] },
  { name: "build", command: [DENO, "run", "-A", "dist/build.ts", "ui", "node", "compile"] },
  { name: "types", command: [DENO, "check", "--quiet", "."] },
  { name: "units and HTTP on Node", command: [...ON_NODE, ...UNITS], files: [] },
  { name: "units that depend on the runtime, on Deno", command: ON_DENO, files: RUNTIME_TESTS },
  {
    // The executable runs on Bun, which differs in files, sockets, paths and collected memory.
    name: "units that depend on the runtime, on Bun",
    get command() {
      return onBun(); // it is not installed before the first section
    },
    // The servers of the races run on Bun too, whose HTTP/2 gives answers without a status.
    files: RUNTIME_TESTS.filter((path) => path !== RACES),
  },
  {
    name: "programs: Deno, Node, Bun, the executable",
    command: ON_DENO,
    files: ["test/runtime", "test/e2e"],
  },
  { name: "browser", command: ON_NODE, files: ["test/browser"] },
];

const TEMP = createMemoryFolder();

process.exitCode = main(process.argv.slice(2));

function main(wanted: string[]): number {
  const sections = SECTIONS.filter(({ name }) =>
    wanted.length === 0 || wanted.some((word) => name.startsWith(word))
  );
  const total: Count = { passed: 0, failed: 0 };
  const lines: string[] = [];
  for (const section of sections) {
    console.log(`\n== ${section.name}`);
    const started = performance.now();
    const { passed, failures, forgiven } = section.files
      ? runSuite(section.command, section.files)
      : runCommand(section.command);
    total.passed += passed;
    total.failed += failures.length;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const verdict = failures.length > 0 ? "FAILED" : "ok";
    const count = words({ passed, failed: failures.length });
    lines.push(`${verdict.padEnd(7)} ${seconds.padStart(6)} s  ${section.name}: ${count}`);
    lines.push(...failures.map((failure) => `        failed: ${failure}`));
    lines.push(...forgiven.map((failure) => `        passed only when run again: ${failure}`));
    if (failures.length > 0 && !section.files) break; // every later section needs this one
  }
  for (const folder of [REPORTS, TEMP]) {
    if (folder) rmSync(folder, { recursive: true, force: true });
  }
  console.log(`\n${lines.join("\n")}\n\n${words(total)}`);
  return total.failed > 0 ? 1 : 0;
}

function onBun(): string[] {
  const { platform, arch } = process;
  const bun = installedBun(ROOT, thisMachine(platform, arch, existsSync("/etc/alpine-release")));
  return [bun, "--bun", "node_modules/vitest/vitest.mjs", ...VITEST];
}

/** The temporary folder of the tests; null where memory has no room for it. */
function createMemoryFolder(): string | null {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_BYTES ? mkdtempSync(join(MEMORY, "gate-")) : null;
  } catch {
    return null;
  }
}

function runCommand(command: string[]): Outcome {
  const isGood = run(command) === 0;
  return { passed: isGood ? 1 : 0, failures: isGood ? [] : [command.join(" ")], forgiven: [] };
}

function runSuite(command: string[], files: string[]): Outcome {
  const first = runFiles(command, files);
  const failures = failuresOf(first);
  if (failures.length === 0 || !IN_CI) return outcome(first, []);
  // Vitest's `retry` repeats a test, but no failed set-up and no worker that was killed.
  const bad = first.filter((report) => report.failures.length > 0).map(({ file }) => file);
  if (bad.length > MOST_AGAIN) return outcome(first, []);
  console.log(`\n== again:\n${failures.join("\n")}`);
  if (bad.includes(UNNAMED)) return outcome(runFiles(command, files), failures);
  const good = first.filter(({ file }) => !bad.includes(file));
  return outcome([...good, ...runFiles(command, bad)], failures);
}

function outcome(reports: FileReport[], forgiven: string[]): Outcome {
  const failures = failuresOf(reports);
  const passed = reports.reduce((sum, report) => sum + report.passed, 0);
  if (passed === 0 && failures.length === 0) failures.push("no test ran");
  return { passed, failures, forgiven: failures.length > 0 ? [] : forgiven };
}

function failuresOf(reports: FileReport[]): string[] {
  return reports.flatMap(({ file, failures }) =>
    failures.map((failure) => `${relative(ROOT, file)}: ${failure}`)
  );
}

// A suite fails when it wrote no report, or exited with an error that no report explains.
function runFiles(command: string[], files: string[]): FileReport[] {
  const report = join(REPORTS, "report.json");
  rmSync(report, { force: true });
  const reporters = ["--reporter=default", "--reporter=./test/section_report.ts"];
  const status = run([...command, ...files, ...reporters], { [REPORT_VARIABLE]: report });
  const unnamed = { file: UNNAMED, passed: 0, failures: [`the suite ended with ${status}`] };
  const reports = readReports(report);
  const isExplained = status === 0 || reports.some(({ failures }) => failures.length > 0);
  return isExplained && reports.length > 0 ? reports : [...reports, unnamed];
}

function readReports(file: string): FileReport[] {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as FileReport[];
  } catch {
    return [];
  }
}

function run([command, ...args]: string[], env: Record<string, string> = {}): number | null {
  const { status, error } = spawnSync(command!, args, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, ...env, ...(TEMP ? { TMPDIR: TEMP } : {}) },
  });
  if (error) console.error(error.message);
  return status;
}

function words({ passed, failed }: Count): string {
  return `${passed} passed, ${failed} failed`;
}
