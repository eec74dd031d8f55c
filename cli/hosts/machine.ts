import { existsSync, readdirSync } from "node:fs";
import { platform } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { Os, UserFile } from "../../server/hosts/host.ts";
import { userHome } from "../home.ts";
import type { Io } from "../io.ts";
import { isProgram } from "../../server/runtime/is_program.ts";

/** The operating system, home folder and environment that decide where hosts keep their files. */
export interface Machine {
  os: Os;
  home: string;
  env: Io["env"];
}

export function machineOf(io: Pick<Io, "env">): Machine {
  const os = platform();
  return { os: os === "darwin" || os === "win32" ? os : "linux", home: userHome(io), env: io.env };
}

/** A config file of a host on this machine. */
export interface HostFile {
  path: string;
  /** The path that exists when the host is in use. */
  sign: string;
}

/** The files that a record describes: one, or one for each match of its `*`. */
export function locate(file: UserFile, machine: Machine): HostFile[] {
  if (file.os && !file.os.includes(machine.os)) return [];
  const [path, sign] = [file.path, file.sign].map((one) => one && absolutePath(one, machine));
  if (!file.path.includes("*")) {
    const other = file.or && absolutePath(file.or, machine);
    const used = other && !existsSync(path!) && existsSync(other) ? other : path!;
    return [{ path: used, sign: sign ?? dirname(used) }];
  }
  const [folder, end] = file.path.split(/\/[^/]*\*/) as [string, string];
  const begin = file.path.slice(folder.length + 1, -end.length - 1);
  return namesIn(absolutePath(folder, machine)).filter((name) => name.startsWith(begin))
    .map((name) => {
      const filled = (one: string) => absolutePath(one.replace(`${begin}*`, () => name), machine);
      return { path: filled(file.path), sign: filled(file.sign ?? file.path) };
    })
    .filter((found) => existsSync(found.sign));
}

/** A path of a host's record as an absolute path of this machine. */
export function absolutePath(path: string, machine: Machine): string {
  const { home, env } = machine;
  const [, name, fallback, rest] = /^\{(\w+)(?:\|([^}]*))?\}(.*)$/.exec(path) ?? [];
  if (name === undefined) return join(path.replace(/^~/, () => home));
  if (fallback !== undefined) return join(env[name] || absolutePath(fallback, machine), rest!);
  return join(appData(machine), rest!);
}

/** The folder in which desktop programs keep their data. */
function appData({ os, home, env }: Machine): string {
  if (os === "darwin") return join(home, "Library", "Application Support");
  if (os === "win32") return env.APPDATA || join(home, "AppData", "Roaming");
  return dotConfig({ home, env });
}

/** `~/.config`, which some programs use on every system. */
export function dotConfig({ home, env }: Pick<Machine, "home" | "env">): string {
  return env.XDG_CONFIG_HOME || join(home, ".config");
}

/** The sorted names in a folder; empty when the folder is missing. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** The absolute path of a program on PATH, or null. Relative entries of PATH are ignored. */
export function findProgram({ os, env }: Machine, name: string): string | null {
  const names = os === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  for (const folder of (env.PATH ?? "").split(delimiter).filter(isAbsolute)) {
    for (const path of names.map((one) => join(folder, one))) {
      if (isProgram(path)) return path;
    }
  }
  return null;
}
