import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { platform } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type { Io } from "../io.ts";
import { userHome } from "../home.ts";

/** What decides where hosts keep their files. */
export interface Machine {
  os: "darwin" | "linux" | "win32";
  home: string;
  env: Io["env"];
}

export function machineOf(io: Pick<Io, "env">): Machine {
  const os = platform();
  return { os: os === "darwin" || os === "win32" ? os : "linux", home: userHome(io), env: io.env };
}

/** Where programs with windows keep their data. */
export function appData({ os, home, env }: Machine): string {
  if (os === "darwin") return join(home, "Library", "Application Support");
  if (os === "win32") return env.APPDATA || join(home, "AppData", "Roaming");
  return env.XDG_CONFIG_HOME || join(home, ".config");
}

/** Where packaged programs of Windows keep theirs. */
export function localAppData({ home, env }: Machine): string {
  return env.LOCALAPPDATA || join(home, "AppData", "Local");
}

/** `~/.config`, which some programs use on every system. */
export function dotConfig({ home, env }: Machine): string {
  return env.XDG_CONFIG_HOME || join(home, ".config");
}

/** The names in a folder; none where there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

/** A program on PATH by its absolute path, or null. Relative entries of PATH are not looked at. */
export function findProgram({ os, env }: Machine, name: string): string | null {
  const names = os === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  for (const folder of (env.PATH ?? "").split(delimiter).filter(isAbsolute)) {
    for (const path of names.map((one) => join(folder, one))) {
      if (isProgram(path)) return path;
    }
  }
  return null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
