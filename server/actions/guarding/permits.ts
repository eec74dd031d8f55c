import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isStatic } from "../../policy/holes.ts";
import { analyse } from "../../policy/interpret/analyse.ts";
import { isProtectedPath } from "../../policy/protect.ts";
import { isGitFolder } from "../../runtime/git_folder.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import type { PermittedPlace } from "../schema.ts";
import type { ActionRow } from "../store.ts";
import { gitCommand, isExplainedChange } from "./git_config.ts";
import type { Difference } from "./snapshot.ts";

/** The changes that the approved text of an action shows. */
export interface Permits {
  /** Absolute paths; everything below a guarded place counts. */
  paths: ReadonlySet<string>;
  /** The same, for what the text writes unnamed. Only a difference needs them. */
  implied: () => readonly string[];
  /** The programs with their arguments. */
  commands: readonly string[][];
}

/**
 * The changes that the text of an action shows, which policy or a person has therefore judged, and
 * the places of the project that a person let this run change.
 */
export function permitsOf(
  { analysis, command, cwd, root, plan }: Pick<
    ActionRow,
    "analysis" | "command" | "cwd" | "root" | "plan"
  >,
  permitted: readonly PermittedPlace[],
): Permits {
  const named = [...analysis?.writes ?? [], ...analysis?.deletes ?? []];
  const at = cwd ?? root;
  const files = plan?.native || !plan ? plan?.changes.map(({ path }) => path) ?? [] : [];
  const paths = new Set([...files, ...permitted.map((place) => join(root, place))]);
  for (const path of named.filter((one) => !/[*?…]/.test(one)).slice(0, 200)) {
    const absolute = resolve(at, path);
    paths.add(absolute);
    paths.add(realOf(absolute));
  }
  let known: string[] | null = null;
  const implied = () => known ??= command === null ? [] : impliedBy(command, at);
  return { paths, implied, commands: analysis?.commands ?? [] };
}

/** The files that a text writes unnamed (`./.husky` of `cp -r x/.husky .`); rules judge them. */
function impliedBy(command: string, cwd: string): string[] {
  return analyse(command, { cwd, user_home: homedir() }).effects
    .filter(({ op, implied, path }) => op !== "read" && implied && isStatic(path))
    .map(({ path }) => path).slice(0, 200);
}

function realOf(path: string): string {
  try {
    return resolvePath(path).real;
  } catch {
    return path;
  }
}

/** Whether a difference is one that the text shows, or one that does no harm. */
export function isPermitted(
  difference: Difference,
  { paths, implied, commands }: Permits,
): boolean {
  const { path, now, before } = difference;
  for (const named of [...paths, ...implied()]) {
    if (path === named) return true;
    // `cp -r x .` names the project: nobody has judged what it brings into a guarded place.
    if (path.startsWith(`${named}/`) && isGuardedPlace(named)) return true;
  }
  // Its files are listed one by one.
  if (now?.kind === "folder" && before === null) return true;
  if (now === null && before?.kind === "folder") return true;
  const isGitConfig = /\/config(?:\.worktree)?$/.test(path) && isOfGitFolder(dirname(path));
  if (isGitConfig || OF_USER.test(path)) {
    const [old, new_] = [textOf(before), textOf(now)];
    return old !== null && new_ !== null && now !== null && isExplainedChange(old, new_, commands);
  }
  if (isOfGitFolder(dirname(dirname(path)))) return isOfGit(difference, commands);
  return now !== null && before !== null && isOfHost(basename(path), textOf(before), textOf(now));
}

function isGuardedPlace(path: string): boolean {
  return isProtectedPath(path) || isOfGitFolder(path);
}

/** Git's own configs of the user. Included ones are changed by their path, which the text names. */
const OF_USER = /\/(?:\.gitconfig|\.config\/git\/config)$/;

function isOfGitFolder(folder: string): boolean {
  return /\/\.git(?:\/|$)/.test(folder) || isGitFolder(folder);
}

/** New files in git's folder that `git init`, `git clone` or `git lfs install` brings. */
function isOfGit({ path, before }: Difference, commands: readonly string[][]): boolean {
  const names = commands.map((argv) => gitCommand(argv)).filter((args) => args !== null);
  if (/\/hooks\/[^/]+$/.test(path)) {
    const isLfs = names.some(([name, verb]) =>
      name === "lfs" && /^(install|update)$/.test(verb ?? "")
    );
    return before === null && isLfs && /\/(post-(checkout|commit|merge)|pre-push)$/.test(path);
  }
  return false;
}

function textOf(kept: Difference["now"]): string | null {
  if (kept === null) return "";
  return kept.kind === "file" && kept.content !== null
    ? new TextDecoder().decode(kept.content)
    : null;
}

/** Whether only such settings of a host changed that the host itself writes while it runs. */
function isOfHost(name: string, before: string | null, after: string | null): boolean {
  if (before === null || after === null) return false;
  try {
    if (/^settings(\.local)?\.json$/.test(name)) {
      return isDeepStrictEqual(withoutAllowed(before), withoutAllowed(after));
    }
    if (name === ".claude.json") return isDeepStrictEqual(serversOf(before), serversOf(after));
  } catch {
    return false;
  }
  return false;
}

/** The settings without the commands that a person told the host to stop asking about. */
function withoutAllowed(text: string): unknown {
  const { permissions, ...rest } = JSON.parse(text) as { permissions?: Record<string, unknown> };
  if (permissions === undefined) return rest;
  const { allow: _, ...others } = permissions;
  return Object.keys(others).length === 0 ? rest : { ...rest, permissions: others };
}

const RUNS_CODE = /^(mcpServers|hooks|env|apiKeyHelper|disableAllHooks)$/;

/** The parts of Claude Code's own state that start programs; it rewrites the others all the time. */
function serversOf(text: string): unknown {
  const whole = JSON.parse(text) as Record<string, unknown>;
  const own = Object.entries(whole).filter(([key]) => RUNS_CODE.test(key));
  const projects = Object.entries(whole.projects ?? {}).map(([folder, settings]) => [
    folder,
    Object.entries(settings ?? {}).filter(([key, value]) =>
      RUNS_CODE.test(key) && !isDeepStrictEqual(value, {})
    ),
  ]).filter(([, settings]) => settings!.length > 0);
  return [own, projects];
}
