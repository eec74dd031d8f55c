import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FIRST_PROJECT_PORT } from "../../server/constants.ts";
import { CliError } from "../errors.ts";

const LAST_PORT = 48_000;

/**
 * The port of a project's own server, from 47001 up: the same one each time. One file per port,
 * so that two projects that ask at once can never be given the same.
 */
export function portOfProject(home: string, id: string): number {
  const folder = join(home, "ports");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const taken = new Map(readdirSync(folder).map((port) => [readOwner(join(folder, port)), port]));
  const known = taken.get(id);
  if (known) return Number(known);
  for (let port = FIRST_PROJECT_PORT; port <= LAST_PORT; port++) {
    if (claim(join(folder, String(port)), id)) return port;
  }
  throw new CliError(`No port is left for a project: ${folder} holds them all`, {
    next: `delete the files of projects that are gone in ${folder}`,
  });
}

function claim(path: string, id: string): boolean {
  try {
    writeFileSync(path, id, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function readOwner(path: string): string {
  return readFileSync(path, "utf8");
}
