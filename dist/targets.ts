import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { platform } from "node:os";
import { dirname, join } from "node:path";

/** One kind of machine we ship for. */
export interface Machine {
  /** Ends the executable's name: `gate-<name>`. */
  name: string;
  /** The npm package that holds Bun for it, and Bun's own name for it. */
  bun: { package: string; target: string };
  /** The npm package that holds the database's native library for it. */
  libsql: string;
}

/** Every machine that `compile:all` builds for. */
export const MACHINES: Machine[] = [
  machine("linux-x64", "linux-x64", "linux-x64-gnu"),
  machine("linux-x64-musl", "linux-x64-musl", "linux-x64-musl"),
  machine("linux-arm64", "linux-aarch64", "linux-arm64-gnu"),
  machine("linux-arm64-musl", "linux-aarch64-musl", "linux-arm64-musl"),
  machine("darwin-x64", "darwin-x64", "darwin-x64"),
  machine("darwin-arm64", "darwin-aarch64", "darwin-arm64"),
  machine("win32-x64.exe", "windows-x64", "win32-x64-msvc"),
];

/** The machine this runs on, as it is named in MACHINES. @throws Error where we ship nothing */
export function thisMachine(platform: string, arch: string, isMusl: boolean): Machine {
  const name = `${platform}-${arch}${isMusl ? "-musl" : ""}${platform === "win32" ? ".exe" : ""}`;
  const found = MACHINES.find((known) => known.name === name);
  if (!found) throw new Error(`Cannot compile on "${name}": Bun or libSQL has nothing for it`);
  return found;
}

/** The file of Bun for that machine, out of the installed packages. */
export function installedBun(root: string, { bun }: Machine): string {
  return join(installed(root, "bun", bun.package), bunFile(bun.package));
}

/** The database's library for that machine, out of the installed packages. */
export function installedLibrary(root: string, { libsql }: Machine): string {
  return join(installed(root, "libsql", libsql), "index.node");
}

/** Bun and the library for any machine, through npm, each checked against the lock file. */
export async function fetchMachine(root: string, machine: Machine) {
  const kept = join(root, "node_modules", ".cache", "gate");
  const bun = await fetchPackage(root, kept, machine.bun.package);
  const libsql = await fetchPackage(root, kept, machine.libsql);
  return { bun: join(bun, bunFile(machine.bun.package)), library: join(libsql, "index.node") };
}

// Install scripts do not run here, so the platform's package is looked up from the one that wants it.
function installed(root: string, wantedBy: string, name: string): string {
  const parent = realpathSync(join(root, "node_modules", wantedBy));
  return dirname(createRequire(join(parent, "package.json")).resolve(`${name}/package.json`));
}

async function fetchPackage(root: string, kept: string, name: string): Promise<string> {
  const { version, integrity } = await locked(root, name);
  const folder = join(kept, `${name.replace("/", "+")}@${version}`);
  if (existsSync(folder)) return join(folder, "package");
  await mkdir(kept, { recursive: true });
  const fresh = await mkdtemp(join(kept, "fetch-"));
  try {
    const packed = npmPack(`${name}@${version}`, fresh);
    await verify(packed, integrity);
    const unpacked = join(fresh, "unpacked");
    await mkdir(unpacked);
    execFileSync("tar", ["-xzf", packed, "-C", unpacked]);
    await rename(unpacked, folder); // a build that was stopped leaves no half of it
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return join(folder, "package");
}

function npmPack(wanted: string, folder: string): string {
  const shell = platform() === "win32"; // npm is a script there
  const args = ["pack", wanted, "--silent", "--pack-destination", folder];
  const name = execFileSync("npm", args, { encoding: "utf8", shell }).trim().split("\n").at(-1)!;
  return join(folder, name);
}

async function verify(file: string, integrity: string): Promise<void> {
  const hash = createHash("sha512").update(await readFile(file)).digest("base64");
  if (`sha512-${hash}` === integrity) return;
  throw new Error(`Cannot use "${file}": its hash is not the one in deno.lock`);
}

async function locked(root: string, name: string) {
  const lock = JSON.parse(await readFile(join(root, "deno.lock"), "utf8")) as {
    npm: Record<string, { integrity: string }>;
  };
  const key = Object.keys(lock.npm).find((known) => known.startsWith(`${name}@`));
  if (!key) throw new Error(`Cannot fetch "${name}": deno.lock does not know it`);
  return { version: key.slice(name.length + 1), integrity: lock.npm[key]!.integrity };
}

function bunFile(name: string): string {
  return join("bin", name.includes("windows") ? "bun.exe" : "bun");
}

function machine(name: string, bun: string, libsql: string): Machine {
  return {
    name,
    bun: { package: `@oven/bun-${bun}`, target: `bun-${bun.replace("aarch64", "arm64")}` },
    libsql: `@libsql/${libsql}`,
  };
}
