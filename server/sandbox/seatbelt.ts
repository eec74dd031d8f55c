import { dirname } from "node:path";
import { commandShell, type SandboxStart } from "../runtime/sandboxed_process.ts";
import { environmentIn, isWithin, toolsIn } from "./bubblewrap.ts";
import { ownPlaces } from "./own_places.ts";
import type { Mount, Walls } from "./schema.ts";

/** The program of macOS that holds a command to a profile. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/**
 * The start of a command that Seatbelt holds to these walls. It sees the folders of the machine under
 * their own names, so what a mount would put elsewhere is named by variables instead.
 */
export function startByProfile(
  walls: Walls,
  env: Record<string, string | undefined>,
): SandboxStart {
  const { mounts, tools_at } = walls;
  const all = [...mounts.slice(0, tools_at), ...toolsIn(env, walls), ...mounts.slice(tools_at)];
  const blocks = Math.floor(walls.limits.file_bytes / 512);
  return {
    argv: [walls.engine.path, "-p", seatbeltProfile({ ...walls, mounts: all })],
    inputs: [],
    outer: (last) => [
      ...commandShell(),
      "-c",
      `ulimit -S -c 0; ulimit -f ${blocks} || exit 126\n${last}`,
      "sh",
    ],
    inside: [],
    waits: null,
    tells_first: false,
    limits: walls.limits,
    env: (given) => ({ ...environmentIn(walls, given), ...ownPlaces(walls) }),
  };
}

/**
 * The profile of these walls. Of several rules about a path the last one counts, so the order of the
 * mounts is kept. @throws Error for a path that a profile cannot name
 */
export function seatbeltProfile(walls: Pick<Walls, "mounts" | "network" | "closed_ports">): string {
  const shown = walls.mounts.filter(({ as }) => as === "read_only" || as === "writable");
  const above = new Set(shown.flatMap(({ at, from = at }) => ancestorsOf(from)));
  const isBelowWritable = (path: string) =>
    shown.some(({ at, as, from = at }) => as === "writable" && isWithin(path, from));
  return [
    ...BASE,
    "; the folders around what is shown, so that paths can be looked up",
    ...[...above].toSorted().map((path) => `(allow file-read-metadata (literal ${quoted(path)}))`),
    "; the walls, in the order of the mounts",
    ...walls.mounts.flatMap(rulesFor),
    "; what is hidden or kept, and the folders around it, keep their names",
    ...keptNames(walls.mounts).filter(isBelowWritable)
      .map((path) => `(deny file-write-unlink (literal ${quoted(path)}))`),
    ...networkRules(walls),
    "",
  ].join("\n");
}

/** What each program needs to start and to talk to its own processes; nothing of other programs. */
const BASE = [
  "(version 1)",
  "(deny default)",
  "(allow process-fork)",
  "(allow process-exec)",
  "(allow process-info* (target same-sandbox))",
  "(allow signal (target same-sandbox))",
  "(allow sysctl-read)",
  "(allow ipc-posix-sem)",
  '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
  '(allow file-read* (literal "/"))',
  '(allow file-read-metadata (literal "/etc") (literal "/tmp") (literal "/var"))',
  '(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero"))',
  '(allow file-read* (literal "/dev/random") (literal "/dev/urandom") (subpath "/dev/fd"))',
  '(allow file-ioctl (literal "/dev/null") (literal "/dev/zero"))',
];

function rulesFor({ at, as, from = at }: Mount): string[] {
  switch (as) {
    case "read_only":
      // A copy in another place would be no wall there.
      return from === at
        ? [`(deny file-write* ${below(at)})`, `(allow file-read* ${below(at)})`]
        : [];
    case "writable":
      return [
        `(allow file-read* file-write* ${below(from)})`,
        `(deny file-write-setugid ${below(from)})`,
      ];
    case "hidden_file":
    case "hidden_folder":
      return [`(deny file-read* file-write* ${below(at)})`];
    case "new_folder":
    case "folder":
    case "link":
      return [];
  }
}

/** A file, or a folder with all that is in it. */
function below(path: string): string {
  return `(subpath ${quoted(path)})`;
}

/** Hidden and kept paths with the folders around them. */
function keptNames(mounts: readonly Mount[]): string[] {
  const kept = mounts.filter(({ as }) => as === "read_only" || as.startsWith("hidden"));
  return [...new Set(kept.flatMap(({ at }) => [at, ...ancestorsOf(at)]))].toSorted();
}

function ancestorsOf(path: string): string[] {
  const all: string[] = [];
  for (let at = dirname(path); at !== "/"; at = dirname(at)) all.push(at);
  return all;
}

/** A profile has no network of its own, so it is open or closed. */
function networkRules(
  { network, closed_ports }: Pick<Walls, "network" | "closed_ports">,
): string[] {
  if (network !== "all") return ["(deny network*)"];
  return [
    "(allow network*)",
    "; services of this machine listen on such sockets",
    "(deny network-outbound (remote unix-socket))",
    '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
    ...closed_ports.map((port) => `(deny network-outbound (remote ip "localhost:${port}"))`),
  ];
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x1f\x7f\u2028\u2029]/;

/** The path as a text of a profile. @throws Error for a path with control characters */
export function quoted(path: string): string {
  if (CONTROL.test(path) || !path.isWellFormed()) {
    throw new Error(`Cannot start the sandbox: no profile can name ${JSON.stringify(path)}`);
  }
  return `"${path.replace(/[\\"]/g, "\\$&")}"`;
}

/** The folders of macOS that programs need, read-only, and what of them is hidden. */
export function macMounts(): Mount[] {
  return [
    ...SYSTEM_OF_MAC.map((at): Mount => ({ at, as: "read_only" })),
    ...HIDDEN_OF_MAC.map((at): Mount => ({ at, as: "hidden_folder" })),
  ];
}

const SYSTEM_OF_MAC = [
  ...["/bin", "/sbin", "/usr", "/opt", "/System", "/Library", "/Applications", "/private/etc"],
  ...["/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select"],
];
const HIDDEN_OF_MAC = [
  ...["/Library/Keychains", "/private/etc/sudoers.d", "/private/etc/ssh", "/System/Volumes/Data"],
];
