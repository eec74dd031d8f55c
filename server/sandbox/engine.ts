import { execFile } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { platform, release, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SandboxEngine } from "../environment.ts";
import { ownPid, selfConfine } from "../runtime/self.ts";
import type { SandboxStart } from "../runtime/sandboxed_process.ts";
import { runCommand } from "../runtime/spawn.ts";
import { isAtLeast, startBehind } from "./bubblewrap.ts";
import { startConfined } from "./landlock.ts";
import type { Mount, Walls } from "./schema.ts";
import { macMounts, SANDBOX_EXEC, startByProfile } from "./seatbelt.ts";
import { systemMounts } from "./system.ts";

/** The engine of this machine, or why there is none. Beside an engine: why it is not the best one. */
export interface EngineFound {
  engine: SandboxEngine | null;
  why: string | null;
  /** What a person can do about it. */
  fix: string | null;
}

/** Where engines are looked for, and how this program restricts itself. Tests pass their own. */
export interface EnginePlaces {
  bubblewrap?: readonly string[];
  system?: NodeJS.Platform;
  /** The program of macOS. */
  seatbelt?: string;
  /** The words that start this program as the process that restricts itself. */
  confine?: readonly string[] | null;
}

/** Programs from other places may have been put there by an agent. */
const PLACES = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
const INSTALL =
  "install bubblewrap: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap; " +
  "then restart the daemon";
const VERSION_MS = 5_000;
const PROBE_MS = 10_000;
/** Earlier versions of Landlock let a command end and stop other programs. Linux 6.12 has this one. */
const LANDLOCK_ABI = 6;

/** The engine of this machine; null if commands cannot run in a sandbox. Tries it once. */
export async function findEngine(places: EnginePlaces = {}): Promise<SandboxEngine | null> {
  return (await lookForEngine(places)).engine;
}

/** Begins to look for the engine; each call of the result waits for that one answer. */
export function engineOnce(places: EnginePlaces = {}): () => Promise<SandboxEngine | null> {
  const found = findEngine(places);
  return () => found;
}

/**
 * Looks for an engine and runs a program in it: on Linux bubblewrap, else Landlock; on macOS Seatbelt.
 * Never throws.
 */
export async function lookForEngine(places: EnginePlaces = {}): Promise<EngineFound> {
  const { system = platform() } = places;
  if (system === "darwin") return await lookForSeatbelt(places.seatbelt ?? SANDBOX_EXEC);
  if (system !== "linux") {
    return none(`gate has no sandbox on ${system}: commands are judged by their text`, null);
  }
  const mounts = await lookForBubblewrap(places.bubblewrap ?? PLACES);
  if (mounts.engine) return mounts;
  const { engine, why } = await lookForLandlock(places);
  if (engine) return { engine, why: mounts.why, fix: mounts.fix };
  return none(`${mounts.why}; nor can it be Landlock: ${why}`, mounts.fix);
}

async function lookForBubblewrap(places: readonly string[]): Promise<EngineFound> {
  const there = places.filter((place) => statSync(place, { throwIfNoEntry: false })?.isFile());
  const path = there.find(isOfRoot);
  if (path === undefined) {
    return there.length > 0
      ? none(`"${there[0]}" belongs to a user, or one can write it or its folder`, INSTALL)
      : none("bubblewrap is not installed", INSTALL);
  }
  const version = await versionOf(path);
  if (version === null) return none(`"${path}" does not tell its version`, INSTALL);
  if (!isAtLeast(version, 0, 4)) return none(`bubblewrap ${version} is too old`, INSTALL);
  const engine = { name: "bubblewrap" as const, path, version, can_mask: true };
  const failure = await tryOut(engine).catch((error) => String(error));
  return failure === null ? { engine, why: null, fix: null } : none(
    `bubblewrap cannot build a sandbox here: ${failure}`,
    "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 " +
      "user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0; " +
      "in a container, start that with a seccomp profile which allows them",
  );
}

/** Landlock needs no program and no namespace, but a runtime that makes system calls. */
async function lookForLandlock({ confine = selfConfine() }: EnginePlaces): Promise<EngineFound> {
  if (confine === null) {
    return none("Node makes no system calls; gate's own executable does", null);
  }
  const version = await landlockVersion(confine);
  if (version === null) return none("this kernel has none, or it is turned off", null);
  if (version < LANDLOCK_ABI) {
    return none(`version ${version} of this kernel is too old (Linux 6.12 has version 6)`, null);
  }
  const engine = {
    ...{ name: "landlock" as const, path: confine[0]!, version: `${version}`, can_mask: false },
  };
  const failure = await tryConfined(engine, confine).catch((error) => String(error));
  return failure === null ? { engine, why: null, fix: null } : none(failure, null);
}

function landlockVersion([program = "", ...args]: readonly string[]): Promise<number | null> {
  return new Promise((resolve) =>
    execFile(program, [...args, "version"], { timeout: VERSION_MS }, (_, out) => {
      const version = Number(out?.trim() || "0");
      resolve(version > 0 ? version : null);
    })
  );
}

async function lookForSeatbelt(path: string): Promise<EngineFound> {
  const fix = "use a macOS that has it; gate judges commands by their text until then";
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
    return none(`"${path}" is not there`, fix);
  }
  if (!isOfRoot(path)) return none(`"${path}" belongs to a user, or one can write it`, fix);
  const engine = { name: "seatbelt" as const, path, version: release(), can_mask: true };
  const failure = await tryProfile(engine).catch((error) => String(error));
  return failure === null
    ? { engine, why: null, fix: null }
    : none(`Seatbelt cannot hold a command here: ${failure}`, fix);
}

function none(why: string, fix: string | null): EngineFound {
  return { engine: null, why, fix };
}

/** Whether only root can change the program, the folders above it, and what a link leads to. */
function isOfRoot(path: string): boolean {
  try {
    for (const start of [path, realpathSync(path)]) {
      for (let at = start;; at = dirname(at)) {
        const { uid, mode } = at === start ? statSync(at) : lstatSync(at);
        if (uid !== 0 || (mode & 0o022) !== 0) return false;
        if (dirname(at) === at) break;
      }
    }
    return true;
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<string | null> {
  const text = await new Promise<string>((resolve) =>
    execFile(path, ["--version"], { timeout: VERSION_MS, env: {} }, (_, out) => resolve(out ?? ""))
  );
  return /\b(\d+\.\d+(?:\.\d+)?)\b/.exec(text)?.[1] ?? null;
}

/** Runs `true` in a sandbox of system folders; returns the error if that fails. */
async function tryOut(engine: SandboxEngine): Promise<string | null> {
  const walls = plainWalls(engine, systemMounts(), "/");
  const { exit_code, output, error } = await runCommand("true", {
    ...PROBE,
    sandbox: startBehind(walls, {}),
  });
  return exit_code === 0 ? null : error ?? (output.trim() || `it ended with ${exit_code}`);
}

/** Each line is one attempt; the last word must be all that is printed. */
const ATTEMPTS = [
  "cat ../secret",
  "echo x >../secret && echo wrote",
  "chmod 604 ../secret && echo changed",
  "touch -d 2001-01-01 ../secret && echo changed",
  "ln ../secret linked && echo linked",
  "kill -0 $OUTSIDE && echo signalled",
  "(echo >/dev/tcp/127.0.0.1/9) 2>&1 | grep -i refused",
  "echo x >file && chmod 700 file && [ -x file ] && echo held",
].join("\n");

/** Runs attempts to leave the sandbox; returns what got out, or the error. */
async function tryConfined(engine: SandboxEngine, confine: readonly string[]) {
  return await inProbeFolder(async (inside) => {
    const mounts: Mount[] = [...systemMounts(), { at: inside, as: "writable" }];
    return await attempt(startConfined(plainWalls(engine, mounts, inside), {}, confine), inside);
  });
}

async function tryProfile(engine: SandboxEngine): Promise<string | null> {
  return await inProbeFolder(async (inside) => {
    const mounts: Mount[] = [...macMounts(), { at: inside, as: "writable" }];
    return await attempt(startByProfile(plainWalls(engine, mounts, inside), {}), inside);
  });
}

async function inProbeFolder(
  run: (inside: string) => Promise<string | null>,
): Promise<string | null> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "gate-probe-")));
  try {
    const inside = join(folder, "inside");
    mkdirSync(inside);
    writeFileSync(join(folder, "secret"), "secret\n", { mode: 0o600 });
    return await run(inside);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function attempt(sandbox: SandboxStart, cwd: string): Promise<string | null> {
  const { output, error } = await runCommand(`exec 2>/dev/null\nOUTSIDE=${ownPid()}\n${ATTEMPTS}`, {
    ...{ ...PROBE, cwd, env: { PATH: "/usr/bin:/bin" } },
    sandbox,
  });
  const printed = output.trim();
  if (printed === "held") return null;
  if (printed.startsWith(OWN_WORDS)) return printed.slice(OWN_WORDS.length);
  return error ?? (printed === "" ? "no command starts in it" : `it let out: ${printed}`);
}

/** The process that restricts itself says so why it cannot. */
const OWN_WORDS = "gate: Cannot start the sandbox: ";

const PROBE = { cwd: "/", timeout_ms: PROBE_MS, max_output_bytes: 1_000, env: {} };

function plainWalls(engine: SandboxEngine, mounts: Mount[], cwd: string): Walls {
  return {
    engine,
    network: "loopback",
    hosts: [],
    mounts,
    tools_at: 0,
    user_home: "/",
    never_shown: [],
    closed_ports: [],
    cwd,
    blank: "/dev/null",
    limits: { processes: 4_096, memory_bytes: 2 ** 32, file_bytes: 2 ** 32 },
  };
}
