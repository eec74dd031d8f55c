import { createHash } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { loadConfig } from "../config/load.ts";
import { ProjectConfig } from "../config/schema.ts";
import { GateError } from "../errors.ts";
import { refuseMachineId } from "./machine.ts";
import { readSmallFile } from "../runtime/small_file.ts";

/** The identity of the project in a folder. */
export interface Identity {
  id: string;
  name: string;
  /** The folder's real path. */
  root: string;
  /** Advice for the person, if any. */
  warning: string | null;
}

const CONFIG = "gate.config.json";

/**
 * Reads the identity of the project with a config in `folder`.
 * @throws GateError `not_found`, `invalid`
 */
export function identifyProject(folder: string): Identity {
  const root = realFolder(folder);
  const id = readId(join(root, CONFIG), root);
  const name = basename(root) || root;
  if (id) refuseMachineId(id, root);
  if (id) return { id, name, root, warning: null };
  const derived = deriveId(root, name);
  const warning =
    `"${join(root, CONFIG)}" has no "id": the gate uses "${derived}", which changes when the ` +
    `folder moves; add "id": "${derived}"`;
  return { id: derived, name, root, warning };
}

function realFolder(folder: string): string {
  if (folder.includes("\0")) {
    throw new GateError(
      "invalid",
      "Cannot use the folder: its path has a NUL; name another folder",
    );
  }
  try {
    const root = realpathSync(folder);
    if (statSync(root).isDirectory()) return root;
  } catch (cause) {
    throw new GateError(
      "not_found",
      `Cannot find the folder "${folder}": it is not there; create it, or name another folder`,
      { cause },
    );
  }
  throw new GateError(
    "invalid",
    `Cannot register "${folder}": it is not a folder; name the project's folder`,
  );
}

function readId(path: string, root: string): string | undefined {
  // Validates only the id: a project with a broken policy exists and denies everything.
  const { value, text, error } = loadConfig(path, ProjectConfig.pick({ id: true }));
  if (error) {
    throw new GateError("invalid", `Cannot register "${root}": ${error}`, {
      next: "correct the file",
    });
  }
  if (value && text !== "") return value.id;
  const message = `Cannot find a project in "${root}": it has no ${CONFIG}`;
  throw new GateError("not_found", message, { next: "gate init there" });
}

/** The folder's name, reduced to the characters of an id, and 8 hex digits of its path's hash. */
export function deriveId(root: string, name: string): string {
  const hash = createHash("sha256").update(root).digest("hex").slice(0, 8);
  const kept = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, 50).replace(
    /^[._-]+|[._-]+$/g,
    "",
  );
  return `${kept || "project"}-${hash}`;
}

const MAX_BYTES = 1024 * 1024;

/** Whether both folders are checkouts of one git repository: its worktrees or clones. */
export function isSameRepository(a: string, b: string): boolean {
  const [left, right] = [gitFolder(a), gitFolder(b)];
  if (!left || !right) return false;
  if (left === right) return true;
  const [from, to] = [originOf(left), originOf(right)];
  return (from !== null && (from === to || isFolder(from, b, right))) ||
    (to !== null && isFolder(to, a, left));
}

/** The git folder, shared by all worktrees of a checkout. */
function gitFolder(root: string): string | null {
  const dot = join(root, ".git");
  try {
    if (statSync(dot).isDirectory()) return realpathSync(dot);
    const target = /^gitdir: (.+)$/m.exec(readSmallFile(dot, MAX_BYTES))?.[1];
    if (!target) return null;
    const own = resolve(root, target.trim());
    return realpathSync(resolve(own, readSmallFile(join(own, "commondir"), MAX_BYTES).trim()));
  } catch {
    return null;
  }
}

function originOf(git: string): string | null {
  try {
    const config = readSmallFile(join(git, "config"), MAX_BYTES);
    const section = /^\[remote "origin"\]$([^[]*)/m.exec(config)?.[1] ?? "";
    return /^\s*url\s*=\s*(\S.*?)\s*$/m.exec(section)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Whether the origin is this folder: a clone of a folder names it as its origin. */
function isFolder(origin: string, root: string, git: string): boolean {
  try {
    const real = realpathSync(origin.replace(/^file:\/\//, ""));
    return real === realpathSync(root) || real === git;
  } catch {
    return false;
  }
}
