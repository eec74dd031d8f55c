import { existsSync, realpathSync } from "node:fs";
import { arch } from "node:os";
import { dirname } from "node:path";
import { ownUid } from "../runtime/self.ts";
import { commandShell, type SandboxStart } from "../runtime/sandboxed_process.ts";
import type { Reach } from "./reach.ts";
import type { Mount, SandboxLimits, Walls } from "./schema.ts";
import { seccompFilter } from "./seccomp.ts";

/** The descriptors from which bubblewrap reads; the first two inputs of the process. */
const [ARGS_FD, SECCOMP_FD] = [3, 4];

/**
 * The start of a command behind these walls. `env` is the environment of the process that runs it;
 * the folders of its PATH are shown. `reach` is the way to the hosts that the walls list.
 */
export function startBehind(
  walls: Walls,
  env: Record<string, string | undefined>,
  reach: Reach | null = null,
): SandboxStart {
  const filter = seccompFilter(arch(), null, { unix: walls.network !== "all" });
  // Behind its inputs, it tells its first process.
  const told_fd = filter ? SECCOMP_FD + 1 : SECCOMP_FD;
  const args = [
    ...namespacesOf(walls, filter !== null),
    ...mountsOf(walls, env, reach),
    ...(filter ? ["--seccomp", `${SECCOMP_FD}`] : []),
    ...["--info-fd", `${told_fd}`],
  ];
  const inputsOf = (words: readonly string[]) => [
    new TextEncoder().encode(words.map((word) => `${word}\0`).join("")),
    ...(filter ? [filter] : []),
  ];
  const shell = reach === null ? waitingShell() : null;
  return {
    argv: [walls.engine.path, "--args", `${ARGS_FD}`],
    inputs: inputsOf([...args, "--chdir", walls.cwd]),
    outer: (last) => outerShell(walls.limits, last, told_fd),
    inside: insideOf(walls, reach),
    waits: shell && { words: shell, inputs: inputsOf([...args, "--chdir", "/"]) },
    tells_first: true,
    limits: walls.limits,
    env: (given) => environmentIn(walls, given),
  };
}

function namespacesOf({ network, engine }: Walls, filtered: boolean): string[] {
  return [
    "--unshare-all",
    ...(network === "all" ? ["--share-net"] : []),
    "--unshare-user",
    // The filter does it too, and this costs a namespace more.
    ...(!filtered && isAtLeast(engine.version, 0, 8) ? ["--disable-userns"] : []),
    "--new-session",
    "--die-with-parent",
    ...["--cap-drop", "ALL"],
    ...["--hostname", "sandbox"],
  ];
}

/** Whether a version such as `0.8.0` is at least this one. */
export function isAtLeast(version: string, major: number, minor: number): boolean {
  const [is_major = 0, is_minor = 0] = version.split(".").map(Number);
  return is_major > major || (is_major === major && is_minor >= minor);
}

function mountsOf(
  walls: Walls,
  env: Record<string, string | undefined>,
  reach: Reach | null,
): string[] {
  const { mounts, tools_at } = walls;
  const all = [
    ...mounts.slice(0, tools_at),
    ...toolsIn(env, walls),
    ...mounts.slice(tools_at),
    ...reach?.mounts ?? [],
  ];
  return [...all.flatMap((mount) => mountArgs(mount, walls)), ...["--remount-ro", "/"]];
}

function mountArgs({ at, as, from = at }: Mount, { blank, engine }: Walls): string[] {
  switch (as) {
    case "read_only":
      return ["--ro-bind", from, at];
    case "writable":
      return ["--bind", from, at];
    case "link":
      return ["--symlink", from, at];
    case "folder":
      return ["--dir", at];
    case "new_folder":
      // A command could change the memory of the first process, so that its end would end nobody.
      if (at === "/proc") return ["--proc", at, ...hidden(`${at}/1`, engine)];
      if (at === "/dev") return ["--dev", at];
      return [...(isAtLeast(engine.version, 0, 7) ? ["--size", FOLDER_BYTES] : []), "--tmpfs", at];
    case "hidden_file":
      return ["--ro-bind", blank, at];
    case "hidden_folder":
      return hidden(at, engine);
  }
}

function hidden(at: string, { version }: Walls["engine"]): string[] {
  const perms = isAtLeast(version, 0, 5) ? ["--perms", "0000"] : [];
  return [...perms, ...["--tmpfs", at], ...["--remount-ro", at]];
}

/** The largest content of a folder that is kept in memory. */
const FOLDER_BYTES = `${512 * 1024 * 1024}`;

/** Variables that choose an installation, as PATH does. */
const INSTALLATIONS = [
  ...["JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "GOROOT", "NVM_DIR", "VOLTA_HOME", "PYENV_ROOT"],
  ...["RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "SDKMAN_DIR", "CONDA_PREFIX", "VIRTUAL_ENV"],
  ...["BUN_INSTALL", "DENO_INSTALL", "DOTNET_ROOT", "ANDROID_HOME", "PLAYWRIGHT_BROWSERS_PATH"],
];

/** The outermost folders of PATH that no mount shows, with the installation around a `bin`. */
export function toolsIn(
  env: Record<string, string | undefined>,
  { mounts, user_home, never_shown }: Walls,
): Mount[] {
  const named = INSTALLATIONS.map((name) => env[name] ?? "");
  const folders = [...(env["PATH"] ?? "").split(":"), ...named]
    .filter((folder) => folder.startsWith("/") && existsSync(folder))
    .flatMap((folder) => [folder, realpathSync.native(folder)])
    .map((folder) => /\/s?bin$/.test(folder) ? aroundOf(folder, user_home) : folder);
  return [...new Set(folders)]
    .filter((folder) => !isShown(folder, mounts) && !holdsMore(folder, mounts, user_home))
    .filter((folder) => !never_shown.some((one) => isWithin(folder, one) || isWithin(one, folder)))
    .filter((folder, _, all) => !all.some((one) => one !== folder && isWithin(folder, one)))
    .map((at) => ({ at, as: "read_only" as const }));
}

/** The installation that a `bin` is a part of; the folder itself directly below the home or the root. */
function aroundOf(folder: string, user_home: string): string {
  const around = dirname(folder);
  const outer = [user_home, `${user_home}/.local`, "/", dirname(user_home)];
  return outer.includes(around) || user_home.startsWith(`${around}/`) ? folder : around;
}

/** Whether a mount shows the real folder at its place; a private `/tmp` does not. */
function isShown(folder: string, mounts: readonly Mount[]): boolean {
  return mounts.some(({ at, as, from = at }) =>
    isWithin(folder, at) &&
    (as === "link" || (from === at && (as === "read_only" || as === "writable")))
  );
}

/** Whether the folder holds another place of the sandbox, which it would cover. */
function holdsMore(folder: string, mounts: readonly Mount[], user_home: string): boolean {
  return isWithin(user_home, folder) ||
    mounts.some(({ at, as }) =>
      as !== "hidden_folder" && as !== "hidden_file" &&
      at !== folder && isWithin(at, folder)
    );
}

/** Whether a path is a folder or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);
}

/** The kernel counts threads as processes. */
export const THREADS = 4;

/** Starts three times as fast as bash. */
const DASH = ["/bin/dash", "/usr/bin/dash"];

/**
 * The words of the shell that runs before bubblewrap and ends with `last`: it closes what the process
 * inherited above `last_fd`, sets the limits, and lets the kernel end this process first when memory
 * is short.
 */
export function outerShell(
  limits: SandboxLimits,
  last: string,
  last_fd = SECCOMP_FD,
): string[] {
  const bash = commandShell();
  const inBash = [
    "for fd in /proc/self/fd/*; do fd=${fd##*/}",
    // Bash keeps copies of what it redirects for one command, so `exec` redirects.
    `if [ "$fd" -gt ${last_fd} ]; then eval "exec $fd>&-" || exit 126; fi; done`,
    ...boundsOf(limits, 1024),
    last,
  ].join("\n");
  const dash = DASH.find((path) => existsSync(path));
  if (dash === undefined) return [...bash, "-c", inBash, "sh"];
  // Dash names no descriptor above 9, so bash closes those.
  const inDash = [
    "for fd in /proc/self/fd/*; do case ${fd##*/} in",
    `[0-${last_fd}]) ;;`,
    '?) eval "exec ${fd##*/}>&-" || exit 126 ;;',
    `*) [ ! -h "$fd" ] || exec ${bash.join(" ")} -c "$0" sh "$@" || exit 126 ;;`,
    "esac; done",
    ...boundsOf(limits, 512),
    last,
  ].join("\n");
  return [dash, "-c", inDash, inBash];
}

/** The lines that set the limits, for a shell that counts the size of files in these blocks. */
function boundsOf({ memory_bytes, file_bytes }: SandboxLimits, block_bytes: number): string[] {
  return [
    "unset fd DENO_EXTRA_STDIO_FDS",
    "ulimit -S -c 0",
    `ulimit -f ${Math.floor(file_bytes / block_bytes)} || exit 126`,
    `ulimit -d ${Math.floor(memory_bytes / 1024)} || exit 126`,
    "echo 1000 >/proc/self/oom_score_adj || exit 126",
  ];
}

/**
 * The words in the sandbox before those of the command: a shell that bounds the processes. Outside,
 * the kernel would count all processes of the user. It bounds none of root.
 */
function insideOf({ limits: { processes } }: Walls, reach: Reach | null): string[] {
  const isRoot = ownUid() === 0;
  if (isRoot && reach === null) return [];
  const dash = reach === null ? DASH.find((path) => existsSync(path)) : undefined;
  const [shell, option] = dash === undefined ? [commandShell(), "-u"] : [[dash], "-p"];
  const text = [
    ...isRoot ? [] : [`ulimit ${option} ${processes * THREADS} || exit 126`],
    ...reach === null ? [] : [reach.opens],
    'exec "$@"',
  ];
  return [...shell, "-c", text.join("\n"), "sh"];
}

/** A shell that reads its commands from its input. */
function waitingShell(): string[] | null {
  const dash = DASH.find((path) => existsSync(path));
  return dash === undefined ? null : [dash];
}

/** Variables that lead to a service outside, or to a folder that is not there. */
const DROPPED =
  /^(SSH_AUTH_SOCK|DBUS_.*|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_.*|DOCKER_HOST|GATE_.*|TMPDIR|TMP|TEMP)$/;
const PROXIES = /^(https?|ftp|all|no)_proxy$/i;

export function environmentIn(
  { network, user_home, cwd }: Walls,
  given: Record<string, string | undefined>,
): Record<string, string | undefined> {
  const kept = Object.entries(given).filter(([name]) =>
    !DROPPED.test(name) && (network === "all" || !PROXIES.test(name))
  );
  return { ...Object.fromEntries(kept), HOME: user_home, PWD: cwd };
}
