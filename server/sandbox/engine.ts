import { execFile } from "node:child_process";
import { lstatSync, realpathSync, statSync } from "node:fs";
import { platform } from "node:os";
import { dirname } from "node:path";
import type { SandboxEngine } from "../environment.ts";
import { runCommand } from "../runtime/spawn.ts";
import { isAtLeast, startBehind } from "./bubblewrap.ts";
import type { Walls } from "./schema.ts";
import { systemMounts } from "./system.ts";

/** The engine of this machine, or why there is none and what a person can do. */
export type EngineFound =
  | { engine: SandboxEngine; why: null; fix: null }
  | { engine: null; why: string; fix: string | null };

/** Programs from other places may have been put there by an agent. */
const PLACES = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
const INSTALL =
  "install bubblewrap: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap; " +
  "then restart the daemon";
const VERSION_MS = 5_000;
const PROBE_MS = 10_000;

/** The engine of this machine; null if commands cannot run in a sandbox. Tries it once. */
export async function findEngine(): Promise<SandboxEngine | null> {
  return (await lookForEngine()).engine;
}

/** Begins to look for the engine; each call of the result waits for that one answer. */
export function engineOnce(): () => Promise<SandboxEngine | null> {
  const found = findEngine();
  return () => found;
}

/** Looks for an engine in these places, and runs a program in it. Never throws. */
export async function lookForEngine(places: readonly string[] = PLACES): Promise<EngineFound> {
  if (platform() !== "linux") {
    return none(`gate has no sandbox on ${platform()}: commands are judged by their text`, null);
  }
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
      "user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0",
  );
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
  const walls: Walls = {
    engine,
    network: "loopback",
    hosts: [],
    mounts: systemMounts(),
    tools_at: 0,
    user_home: "/",
    never_shown: [],
    cwd: "/",
    blank: "/dev/null",
    limits: { processes: 4_096, memory_bytes: 2 ** 32, file_bytes: 2 ** 32 },
  };
  const { exit_code, output, error } = await runCommand("true", {
    cwd: "/",
    timeout_ms: PROBE_MS,
    max_output_bytes: 1_000,
    env: {},
    sandbox: startBehind(walls, {}),
  });
  return exit_code === 0 ? null : error ?? (output.trim() || `it ended with ${exit_code}`);
}
