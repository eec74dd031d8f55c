import { readdirSync, realpathSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { isWithin } from "./bubblewrap.ts";
import { isProgram } from "../runtime/is_program.ts";

/** The programs in those folders of search paths that a command may write, before it starts. */
export interface SearchedPrograms {
  /** The values of PATH: the daemon's and the agent's. */
  search_paths: readonly string[];
  /** The programs of each folder, by its real path. */
  names: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The programs that a command which may write these folders could put others beside. */
export function searchedPrograms(
  search_paths: readonly string[],
  folders: readonly string[],
): SearchedPrograms {
  const places = search_paths.flatMap((path) => placesIn(path, folders));
  const writable = new Set(places.filter(({ is_writable }) => is_writable).map(({ at }) => at));
  return { search_paths, names: new Map([...writable].map((at) => [at, programsIn(at)])) };
}

/**
 * The programs that appeared in a folder of a search path and that would start in the place of one of
 * the machine: `node_modules/.bin/git`. A link to a program of that name outside these folders is
 * none, as `.venv/bin/python` is one.
 */
export function shadowsSince(
  { search_paths, names }: SearchedPrograms,
  folders: readonly string[],
): string[] {
  const found = search_paths.flatMap((search_path) => {
    const places = placesIn(search_path, folders);
    return places.flatMap(({ at, is_writable }, index) => {
      if (!is_writable) return [];
      const later = places.slice(index + 1).filter((place) => !place.is_writable);
      return [...programsIn(at)]
        .filter((name) => !names.get(at)?.has(name))
        .filter((name) => later.some((place) => isProgram(join(place.at, name))))
        .map((name) => join(at, name));
    });
  });
  return [...new Set(found)].filter((path) => !leadsOut(path, folders));
}

interface Place {
  at: string;
  is_writable: boolean;
}

/** The folders of a search path, each once, by its real path. A relative one counts from each folder. */
function placesIn(search_path: string, folders: readonly string[]): Place[] {
  const entries = search_path.split(":").flatMap((entry) =>
    isAbsolute(entry) ? [entry] : folders.map((folder) => resolve(folder, entry))
  );
  const places = new Set(entries.map((entry) => realOf(entry) ?? entry));
  return [...places].map((at) => ({
    at,
    is_writable: folders.some((folder) => isWithin(at, folder)),
  }));
}

function programsIn(folder: string): Set<string> {
  try {
    return new Set(readdirSync(folder).filter((name) => isProgram(join(folder, name))));
  } catch {
    return new Set(); // it is not there
  }
}

/** Whether it is a link to a program of the same name, whatever its version, outside the folders. */
function leadsOut(path: string, folders: readonly string[]): boolean {
  const real = realOf(path);
  if (real === null || folders.some((folder) => isWithin(real, folder))) return false;
  return nameOf(real) === nameOf(path);
}

function nameOf(path: string): string {
  return basename(path).replace(/[\d.]+$/, "");
}

function realOf(path: string): string | null {
  try {
    return realpathSync.native(path);
  } catch {
    return null;
  }
}
