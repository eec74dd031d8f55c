import { platform } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { isProgram } from "./is_program.ts";

/**
 * Folders in which no command in a sandbox can write. On macOS `/usr/bin/git` may only ask to install
 * itself, so it comes last.
 */
const PLACES = [
  ...["/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin"],
  ...["/run/current-system/sw/bin", "/run/current-system/profile/bin"],
  ...["/nix/var/nix/profiles/default/bin", "/opt/local/bin"],
  ...["/usr/bin", "/bin", "/usr/sbin", "/sbin"],
];

/**
 * The path of a program that gate starts by itself; null if there is none. PATH does not count: it may
 * name a folder of a project, where an agent can put a program of any name. Windows looks for the name.
 */
export function systemProgram(name: string, places: readonly string[] = PLACES): string | null {
  if (platform() === "win32") return name;
  return places.map((place) => join(place, name)).find(isProgram) ?? null;
}

/** The folders in `GATE_SYSTEM_PATH`, for a service manager and a journal that are elsewhere. */
export function systemPlaces(
  { GATE_SYSTEM_PATH }: Record<string, string | undefined>,
): readonly string[] | undefined {
  return GATE_SYSTEM_PATH?.split(delimiter).filter(isAbsolute);
}
