import { createHash } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { loadConfig } from "../config/load.ts";
import { ProjectConfig } from "../config/schema.ts";
import { GateError } from "../errors.ts";

/** Who the project of a folder is. */
export interface Identity {
  id: string;
  name: string;
  /** The folder's real path. */
  root: string;
  /** What the person should change, when there is something. */
  warning: string | null;
}

const CONFIG = "gate.config.json";

/**
 * Reads the identity of the project whose config stands in `folder`.
 * @throws GateError `not_found`, `invalid`
 */
export function identifyProject(folder: string): Identity {
  const root = realFolder(folder);
  const id = readId(join(root, CONFIG), root);
  const name = basename(root) || root;
  if (id) return { id, name, root, warning: null };
  const made = madeUpId(root, name);
  const warning =
    `"${join(root, CONFIG)}" has no "id": "${made}" is used, which changes when the ` +
    `folder moves; add "id": "${made}"`;
  return { id: made, name, root, warning };
}

function realFolder(folder: string): string {
  if (folder.includes("\0")) throw new GateError("invalid", "Cannot use a path with a NUL in it");
  try {
    const root = realpathSync(folder);
    if (statSync(root).isDirectory()) return root;
  } catch (cause) {
    throw new GateError(
      "not_found",
      `Cannot find the folder "${folder}": make it, or name another one`,
      { cause },
    );
  }
  throw new GateError("invalid", `Cannot register "${folder}": it is not a folder`);
}

function readId(path: string, root: string): string | undefined {
  // Nothing but the id is judged here: with a broken policy a project is there, and denies all.
  const { value, text, error } = loadConfig(path, ProjectConfig.pick({ id: true }));
  if (error) throw new GateError("invalid", `Cannot register "${root}": ${error}`);
  if (value && text !== "") return value.id;
  const message = `Cannot find a project in "${root}": it has no ${CONFIG}; run gate init there`;
  throw new GateError("not_found", message);
}

/** The folder's name, as far as an id may hold it, and 8 hex digits of its real path. */
export function madeUpId(root: string, name: string): string {
  const hash = createHash("sha256").update(root).digest("hex").slice(0, 8);
  const kept = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, 50).replace(
    /^[._-]+|[._-]+$/g,
    "",
  );
  return `${kept || "project"}-${hash}`;
}
