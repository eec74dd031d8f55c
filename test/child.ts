import { build } from "esbuild";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A program of the tests in its own process, to be talked to in lines. */
export interface Child {
  readonly pid: number;
  /** The next line that it prints; null when it has ended. */
  readLine(): Promise<string | null>;
  writeLine(line: string): void;
  /** Ends it like a power cut: nothing of it runs any more. */
  kill(): Promise<void>;
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Starts a TypeScript file of this folder on the runtime that runs the tests. */
export async function startChild(file: string, args: string[]): Promise<Child> {
  const path = join(ROOT, "test", file);
  const child = spawn(process.execPath, [...await programOf(path), ...args], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(stop);
  const lines = readLines(child);
  return {
    pid: child.pid!,
    readLine: async () => (await lines.next()).value ?? null,
    writeLine: (line) => void child.stdin!.write(`${line}\n`),
    kill: stop,
  };
}

async function programOf(path: string): Promise<string[]> {
  if ("Deno" in globalThis) return ["run", "--cached-only", "--allow-all", path];
  if ("Bun" in globalThis) return ["run", path];
  // Node 20 reads no TypeScript. The bundle lies where it finds the packages it leaves out.
  const folder = join(ROOT, "node_modules", ".gate-test");
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${basename(path, ".ts")}-${process.pid}.mjs`);
  writeFileSync(outfile, await bundleOf(path));
  onTestFinished(() => rmSync(outfile, { force: true }));
  return [outfile];
}

/** The bundles that this process has made, by the path of their program. */
const bundles = new Map<string, Promise<string>>();

function bundleOf(path: string): Promise<string> {
  const known = bundles.get(path) ?? bundle(path);
  bundles.set(path, known);
  return known;
}

async function bundle(path: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    write: false,
    logLevel: "error",
  });
  return outputFiles[0]!.text;
}

async function* readLines(child: ChildProcess): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const chunk of child.stdout!) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
