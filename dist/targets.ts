import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { platform } from "node:os";
import { dirname, join } from "node:path";

/** A machine that we ship an executable for. */
export interface Machine {
  /** The end of the executable's name: `gate-<name>`. */
  name: string;
  /** The npm package with Bun for this machine, and Bun's name for the machine. */
  bun: { package: string; target: string };
  /** The npm package with the database's native library for this machine. */
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

/** The entry of MACHINES for this machine. @throws Error when there is none */
export function thisMachine(platform: string, arch: string, isMusl: boolean): Machine {
  const name = `${platform}-${arch}${isMusl ? "-musl" : ""}${platform === "win32" ? ".exe" : ""}`;
  const found = MACHINES.find((known) => known.name === name);
  if (!found) throw new Error(`Cannot compile on "${name}": Bun or libSQL has nothing for it`);
  return found;
}

/** The path of Bun in the installed packages. */
export function installedBun(root: string, { bun }: Machine): string {
  return join(installed(root, "bun", bun.package), bunFile(bun.package));
}

/** The path of the database's library in the installed packages. */
export function installedLibrary(root: string, { libsql }: Machine): string {
  return join(installed(root, "libsql", libsql), "index.node");
}

/** Fetches Bun and the library for any machine with npm, and checks both against the lock file. */
export async function fetchMachine(root: string, machine: Machine) {
  const kept = join(root, "node_modules", ".cache", "gate");
  const bun = await fetchPackage(root, kept, machine.bun.package);
  const libsql = await fetchPackage(root, kept, machine.libsql);
  return { bun: join(bun, bunFile(machine.bun.package)), library: join(libsql, "index.node") };
}

/** Resolves a platform package from its dependent package, because no install script has linked it. */
function installed(root: string, dependent: string, name: string): string {
  const parent = realpathSync(join(root, "node_modules", dependent));
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

function npmPack(specifier: string, folder: string): string {
  const shell = platform() === "win32"; // npm is a script there
  const args = ["pack", specifier, "--silent", "--pack-destination", folder];
  const name = execFileSync("npm", args, { encoding: "utf8", shell }).trim().split("\n").at(-1)!;
  return join(folder, name);
}

async function verify(file: string, integrity: string): Promise<void> {
  const hash = createHash("sha512").update(await readFile(file)).digest("base64");
  if (`sha512-${hash}` === integrity) return;
  throw new Error(
    `Cannot use "${file}": its hash differs from the one in deno.lock; delete it and build again`,
  );
}

async function locked(root: string, name: string) {
  const lock = JSON.parse(await readFile(join(root, "deno.lock"), "utf8")) as {
    npm: Record<string, { integrity: string }>;
  };
  const key = Object.keys(lock.npm).find((known) => known.startsWith(`${name}@`));
  if (!key) throw new Error(`Cannot fetch "${name}": deno.lock does not contain it`);
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
