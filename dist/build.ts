/** Builds what ships: `deno run -A dist/build.ts ui node compile`, `compile:all` or `compile:<machine>`. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { withPlainCrash } from "./bun_crash.ts";
import { withoutOwnVariables } from "./bun_environment.ts";
import { withLaterPurge } from "./bun_memory.ts";
import { withEarlyOptimization } from "./bun_thresholds.ts";
import { buildExecutable, type BunBuild, hashOf, type Target } from "./executable.ts";
import { signAdHoc, verifyAdHoc } from "./macho.ts";
import {
  fetchMachine,
  installedBun,
  installedLibrary,
  type Machine,
  MACHINES,
  thisMachine,
} from "./targets.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const BIN = join(ROOT, "dist", "bin");

const STEPS: Record<string, () => Promise<void>> = {
  ui: buildUi,
  node: buildNode,
  compile: compileThis,
  "compile:all": compileAll,
  ...Object.fromEntries(
    MACHINES.map((machine) => [
      `compile:${machine.name}`,
      () => compileFor(machine).then(() => {}),
    ]),
  ),
};

await main(process.argv.slice(2));

async function main(names: string[]): Promise<void> {
  if (names[0] === "--target") return await compileHere(JSON.parse(names[1]!));
  const unknown = names.find((name) => !Object.hasOwn(STEPS, name));
  if (unknown !== undefined || names.length === 0) {
    console.error(`Cannot build "${unknown ?? ""}": choose from ${Object.keys(STEPS).join(", ")}`);
    process.exitCode = 64;
    return;
  }
  for (const name of names) await STEPS[name]!();
}

async function buildUi(): Promise<void> {
  const { buildDashboard } = await import("./dashboard.ts");
  console.log(`dist/ui/: index.html, ${(await buildDashboard(ROOT)).join(", ")}`);
}

async function buildNode(): Promise<void> {
  const { buildNodeBundle } = await import("./node_bundle.ts");
  await buildNodeBundle(ROOT);
  console.log("dist/node/gate.mjs");
}

async function compileThis(): Promise<void> {
  const machine = currentMachine();
  const bun = installedBun(ROOT, machine);
  const library = installedLibrary(ROOT, machine);
  const suffix = process.platform === "win32" ? ".exe" : "";
  await compile(machine, { bun, library, outfile: join(BIN, `gate${suffix}`) });
  if (existsSync(join(ROOT, "cli", "scenario"))) await linkScenarioTool(suffix);
}

async function compileAll(): Promise<void> {
  const lines: string[] = [];
  for (const machine of MACHINES) {
    const outfile = await compileFor(machine);
    lines.push(`${await hashOf(outfile)}  gate-${machine.name}\n`);
  }
  await writeFile(join(BIN, "checksums.txt"), lines.join(""));
  console.log("dist/bin/checksums.txt");
}

async function compileFor(machine: Machine): Promise<string> {
  const outfile = join(BIN, `gate-${machine.name}`);
  await compile(machine, { ...await fetchMachine(ROOT, machine), outfile });
  return outfile;
}

/** Runs this file on Bun with `--target`, because only a script on Bun can call its compiler. */
async function compile(
  machine: Machine,
  parts: { bun: string; library: string; outfile: string },
): Promise<void> {
  await mkdir(BIN, { recursive: true });
  const runtime = `${parts.outfile}.bun`;
  const bun = [withoutOwnVariables, withPlainCrash, withEarlyOptimization, withLaterPurge]
    .reduce((changed, change) => change(changed), await readFile(parts.bun) as Uint8Array);
  await writeFile(runtime, bun, { mode: 0o755 });
  const target: Target = {
    root: ROOT,
    entry: join(ROOT, "cli", "main.ts"),
    outfile: parts.outfile,
    bun: { name: machine.bun.target, file: runtime },
    library: parts.library,
  };
  const args = [fileURLToPath(import.meta.url), "--target", JSON.stringify(target)];
  const { status, error } = spawnSync(installedBun(ROOT, currentMachine()), args, {
    stdio: "inherit",
    cwd: ROOT,
  });
  await rm(runtime);
  if (status !== 0) throw error ?? new Error(`Cannot compile for "${machine.name}"`);
  console.log(parts.outfile.slice(ROOT.length));
  if (machine.name.startsWith("darwin-")) await signForMac(machine, parts.outfile);
}

/** Bun signs what it compiles for arm64; for Intel it leaves the signature of Bun itself. */
async function signForMac(machine: Machine, file: string): Promise<void> {
  let executable: Uint8Array = await readFile(file);
  if (machine.name === "darwin-x64") {
    executable = signAdHoc(executable, "gate");
    // macOS remembers the signature of a file it has run, so the signed one is a new file.
    await writeFile(`${file}.signed`, executable, { mode: 0o755 });
    await rename(`${file}.signed`, file);
  }
  console.log(`  signed ad hoc, ${verifyAdHoc(executable)} page hashes checked`);
}

async function compileHere(target: Target): Promise<void> {
  const { Bun } = globalThis as unknown as { Bun: { build: BunBuild } };
  await buildExecutable(Bun.build, target);
}

/** Makes a copy on Windows, where a link needs a privilege. */
async function linkScenarioTool(suffix: string): Promise<void> {
  const link = join(BIN, `scenario-tool${suffix}`);
  await rm(link, { force: true });
  if (suffix) await copyFile(join(BIN, `gate${suffix}`), link);
  else await symlink("gate", link);
}

function currentMachine(): Machine {
  const isMusl = process.platform === "linux" && existsSync("/etc/alpine-release");
  return thisMachine(process.platform, process.arch, isMusl);
}
