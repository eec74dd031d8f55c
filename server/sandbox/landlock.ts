import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import type { ConfineOrder } from "../runtime/confine.ts";
import { selfConfine } from "../runtime/self.ts";
import type { SandboxStart } from "../runtime/sandboxed_process.ts";
import { environmentIn, isWithin, outerShell, THREADS, toolsIn } from "./bubblewrap.ts";
import { ownPlaces } from "./own_places.ts";
import type { Mount, Walls } from "./schema.ts";
import { seccompFilter } from "./seccomp.ts";

/** Execute, read a file, list a folder. */
const READ = 0b1101;
/** Everything but devices: also write, create, remove, rename between folders, cut off. */
const WRITE = 0b0111_0111_1011_1111;
const LIST = 0b1000;
/** Read, write and cut off a device. */
const USE = 0b0100_0000_0000_0110;
const DEVICES = ["null", "zero", "full", "random", "urandom"];
/** Rules beyond this number are too slow to make for each command. */
const MOST_RULES = 20_000;

/**
 * The start of a command that Landlock holds to these walls. It sees the folders of the machine under
 * their own names, so what a mount would put elsewhere is named by variables instead.
 * @throws Error if these walls need a mount, or this runtime cannot start it
 */
export function startConfined(
  walls: Walls,
  env: Record<string, string | undefined>,
  confine: readonly string[] | null = selfConfine(),
): SandboxStart {
  const filter = seccompFilter(arch(), { network: walls.network === "all" });
  if (confine === null || filter === null) {
    throw new Error("Cannot start the sandbox: this runtime cannot ask the kernel for Landlock");
  }
  const order: ConfineOrder = {
    rules: rulesOf(walls, env),
    writable: writableOf(walls),
    filter: btoa(String.fromCharCode(...filter)),
    threads: walls.limits.processes * THREADS,
  };
  return {
    argv: confine,
    inputs: [new TextEncoder().encode(JSON.stringify(order))],
    outer: (last) => outerShell(walls.limits, last),
    inside: [],
    waits: null,
    tells_first: false,
    limits: walls.limits,
    env: (given) => ({ ...environmentIn(walls, given), ...ownPlaces(walls) }),
  };
}

function writableOf({ mounts }: Walls): string[] {
  return mounts.filter(({ as }) => as === "writable").map(({ at, from = at }) => from);
}

/** The rules of Landlock for these walls. What is hidden in a folder of the machine is left out of it. */
export function rulesOf(
  walls: Walls,
  env: Record<string, string | undefined>,
): ConfineOrder["rules"] {
  const { mounts, tools_at } = walls;
  const all = [...mounts.slice(0, tools_at), ...toolsIn(env, walls), ...mounts.slice(tools_at)];
  const writable = new Set(writableOf(walls));
  const hidden = all.filter(({ as }) => as.startsWith("hidden")).map(({ at }) => at);
  const inside = hidden.find((path) => [...writable].some((one) => isWithin(path, one)));
  if (inside !== undefined) {
    throw new Error(`Cannot start the sandbox: Landlock cannot hide ${JSON.stringify(inside)}`);
  }
  const rules = all.flatMap((mount) => rulesFor(mount, hidden));
  if (rules.length > MOST_RULES) {
    throw new Error("Cannot start the sandbox: it needs too many rules");
  }
  return rules;
}

function rulesFor({ at, as, from = at }: Mount, hidden: readonly string[]): ConfineOrder["rules"] {
  switch (as) {
    case "writable":
      return [{ path: from, rights: WRITE }];
    case "read_only":
      return from === at ? readable(at, hidden) : [];
    case "new_folder":
      if (at === "/proc") return [{ path: at, rights: READ }];
      if (at !== "/dev") return [];
      return DEVICES.map((name) => ({ path: `${at}/${name}`, rights: USE }));
    default:
      return [];
  }
}

/** A rule grants all that is below, so a folder around something hidden is granted piece by piece. */
function readable(path: string, hidden: readonly string[]): ConfineOrder["rules"] {
  const below = hidden.filter((one) => isWithin(one, path));
  if (below.includes(path)) return [];
  if (below.length === 0) return [{ path, rights: READ }];
  const entries = entriesOf(path).filter((entry) => !entry.isSymbolicLink());
  return [
    { path, rights: LIST },
    ...entries.flatMap(({ name }) => readable(join(path, name), below)),
  ];
}

function entriesOf(folder: string): Dirent[] {
  try {
    return lstatSync(folder).isDirectory() ? readdirSync(folder, { withFileTypes: true }) : [];
  } catch {
    return []; // this user cannot read it, so the command cannot either
  }
}
