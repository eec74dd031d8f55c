/** `deno task test`: everything that has to be good, in sections, with one count at the end. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

interface Section {
  name: string;
  command: string[];
  /** Vitest counts its tests itself; any other command is one test. */
  isSuite?: boolean;
}

interface Count {
  passed: number;
  failed: number;
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DENO = process.execPath;
const MAIN = "cli/main.ts";
const CONFIG = "test/vitest.config.ts";
const WITH_PROGRAMS = ["test/runtime/**", "test/e2e/**", "test/browser/**"];
const REPORTS = mkdtempSync(join(tmpdir(), "gate-test-"));

const SECTIONS: Section[] = [
  { name: "install", command: [DENO, "install", "--frozen"] },
  // Else the first program that runs says what it downloads, in the middle of a test.
  { name: "install for programs", command: [DENO, "install", "--frozen", "--entrypoint", MAIN] },
  { name: "build", command: [DENO, "run", "-A", "dist/build.ts", "ui", "node", "compile"] },
  { name: "types", command: [DENO, "check", "--quiet", "."] },
  suite("units and HTTP on Deno", onDeno(without(WITH_PROGRAMS))),
  suite("units and HTTP on Node", onNode(without(WITH_PROGRAMS))),
  suite("programs: Deno, Node, Bun, the executable", onDeno(["test/runtime", "test/e2e"])),
  suite("browser", onDeno(["test/browser"])),
];

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
    const count = runSection(section);
    total.passed += count.passed;
    total.failed += count.failed;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const verdict = count.failed > 0 ? "FAILED" : "ok";
    lines.push(`${verdict.padEnd(7)} ${seconds.padStart(6)} s  ${section.name}: ${words(count)}`);
    if (count.failed > 0 && !section.isSuite) break; // nothing after it could tell anything
  }
  rmSync(REPORTS, { recursive: true, force: true });
  console.log(`\n${lines.join("\n")}\n\n${words(total)}`);
  return total.failed > 0 ? 1 : 0;
}

function runSection({ command: [command, ...args], isSuite }: Section): Count {
  const report = join(REPORTS, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  rmSync(report, { force: true });
  const { status, error } = spawnSync(command!, isSuite ? [...args, ...reporters] : args, {
    cwd: ROOT,
    stdio: "inherit",
  });
  if (error) console.error(error.message);
  const count = isSuite ? readReport(report) : { passed: 1, failed: 0 };
  if (status === 0) return count;
  return isSuite ? { ...count, failed: Math.max(count.failed, 1) } : { passed: 0, failed: 1 };
}

// A suite that ended without a report, or ran no test at all, has failed.
function readReport(file: string): Count {
  try {
    const report = JSON.parse(readFileSync(file, "utf8")) as Record<string, number>;
    const passed = report["numPassedTests"]!;
    return { passed, failed: passed === 0 ? 1 : report["numFailedTests"]! };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

function suite(name: string, command: string[]): Section {
  return { name, command, isSuite: true };
}

function onDeno(args: string[]): string[] {
  return [DENO, "run", "-A", "npm:vitest", "run", "-c", CONFIG, ...args];
}

function onNode(args: string[]): string[] {
  return ["node", "node_modules/vitest/vitest.mjs", "run", "-c", CONFIG, ...args];
}

function without(globs: string[]): string[] {
  return globs.flatMap((glob) => ["--exclude", glob]);
}

function words({ passed, failed }: Count): string {
  return `${passed} passed, ${failed} failed`;
}
