import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../server/environment.ts";
import type { Daemon } from "../../server/daemon.ts";

/** Leaves a note for the next daemon to register the project of this folder. */
export function leaveRoot(home: string, root: string): void {
  const folder = waitingFolder(home);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = createHash("sha256").update(root).digest("hex").slice(0, 32);
  writeFileSync(join(folder, name), JSON.stringify({ root }), { mode: 0o600 });
}

/** The folders that the next daemon registers. */
export function waitingRoots(home: string): string[] {
  return waitingFiles(home).flatMap((path) => {
    try {
      return [readRoot(path)];
    } catch {
      return []; // registerWaiting() reports the file
    }
  });
}

/** A person's `gate init` left the note. */
const PERSON = { id: "init", scope: "reviewer" } as const;

/** Registers the folders that were noted while no daemon ran. */
export async function registerWaiting(
  daemon: { projects: Pick<Daemon["projects"], "register"> },
  home: string,
  log: Environment["log"],
): Promise<void> {
  for (const path of waitingFiles(home)) {
    try {
      await daemon.projects.register(readRoot(path), PERSON);
    } catch (error) {
      log("warn", "cannot register a project", { error: (error as Error).message });
    }
    rmSync(path, { force: true });
  }
}

function readRoot(path: string): string {
  return (JSON.parse(readFileSync(path, "utf8")) as { root: string }).root;
}

function waitingFiles(home: string): string[] {
  try {
    return readdirSync(waitingFolder(home)).map((name) => join(waitingFolder(home), name));
  } catch {
    return [];
  }
}

function waitingFolder(home: string): string {
  return join(home, "run", "register");
}
