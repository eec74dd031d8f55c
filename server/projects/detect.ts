import { realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { MACHINE_ID } from "../constants.ts";
import { HOSTS } from "../hosts/hosts.ts";
import { projectOfFolder } from "./folder.ts";
import type { HubProject } from "./schema.ts";

/** Everything that may tell which project a call is meant for. */
export interface Hints {
  /** `gate mcp --project <id>`: the entry was made for one project. */
  fixed?: string;
  /** The call's own `project` argument: an id or a path. */
  argument?: string;
  /** The folders in which the host works in this turn. */
  workspaces: string[];
  /** The URIs of the client's roots. */
  roots: string[];
  claude_project_dir?: string;
  cwd: string;
  /** The user's home folder, which is never a project by itself. */
  home: string;
}

/** A project, as far as detection needs it. */
export type Known = Pick<HubProject, "id" | "roots">;

/** The registry, as far as detection needs it. */
export interface Registry<P extends Known> {
  list: () => Promise<P[]>;
  register: (root: string) => Promise<Known>;
}

/** Where a call belongs, and the rule that said so. */
export interface Detected {
  project_id: string;
  root: string;
  rule: string;
  /** The project of the folder that the host opened, if it is another one. */
  home_project?: string;
}

/** No project was found; `reason` is for the agent, beside the list of projects. */
export interface Undetected<P extends Known = HubProject> {
  reason: string;
  projects: P[];
}

interface Candidate {
  rule: string;
  folder: string;
}

/**
 * Finds the project of a call. A hint from the host (workspace, root, folder) may register a folder
 * that has a config. The agent's argument only selects a registered project. Otherwise a cloned
 * repository could supply its own policy. A folder of no project belongs to the machine's ledger.
 */
export async function detectProject<P extends Known>(
  hints: Hints,
  registry: Registry<P>,
): Promise<Detected | Undetected<P>> {
  const projects = await registry.list();
  const candidates = listCandidates(hints);
  const named = hints.fixed ?? hints.argument;
  if (named === undefined) return await findOpened(hints, candidates, { ...registry, projects });
  const found = findNamed(named, hints, projects, candidates);
  if ("reason" in found || hints.fixed !== undefined) return found;
  // The agent names a project, and its host opened a folder: both have a say.
  const home = await findOpened(hints, candidates, { projects, register: registerNothing });
  const home_project = "reason" in home ? MACHINE_ID : home.project_id;
  return home_project === found.project_id ? found : { ...found, home_project };
}

/**
 * Registers a folder. One that waits for a person's proof counts as of no project until then, so the
 * machine's policy judges it as before.
 */
export async function registerOrMachine(
  root: string,
  { register, codeOf }: {
    register: (root: string) => Promise<Known>;
    /** The code of the daemon's refusal. */
    codeOf: (error: unknown) => string | undefined;
  },
): Promise<Known> {
  try {
    return await register(root);
  } catch (error) {
    if (codeOf(error) === "proof_required") return await registerNothing(root);
    throw error;
  }
}

/** A call that names its project registers no other one, so the folder counts as of no project. */
function registerNothing(root: string): Promise<Known> {
  return Promise.resolve({ id: MACHINE_ID, roots: [root] });
}

/** The project of the folder that the host opened. */
async function findOpened<P extends Known>(
  hints: Hints,
  candidates: Candidate[],
  { projects, register: add }: { projects: P[]; register: Registry<P>["register"] },
): Promise<Detected | Undetected<P>> {
  let within: string | null = null;
  for (const { rule, folder } of candidates) {
    const real = realFolder(folder);
    if (real === null || (within !== null && !isInside(real, within))) continue;
    const found = findUpwards(real, hints.home, projects);
    if (found?.project) return { project_id: found.project.id, root: found.root, rule };
    if (found) {
      const { id } = await add(found.root);
      return { project_id: id, root: found.root, rule: id === MACHINE_ID ? "machine" : rule };
    }
    // A later hint may only refine an earlier one: else a call could land in a stranger's folder.
    within = isOrdinary(real, hints.home) ? real : within;
  }
  // The machine's own ledger takes every other folder, the user's home and `/` included.
  const folder = within ??
    candidates.map((one) => realFolder(one.folder)).find((one) => one !== null);
  if (folder) return { project_id: MACHINE_ID, root: folder, rule: "machine" };
  return { projects, reason: `No project found for ${candidates.at(-1)?.folder ?? hints.cwd}` };
}

function findNamed<P extends Known>(
  named: string,
  hints: Hints,
  projects: P[],
  candidates: Candidate[],
): Detected | Undetected<P> {
  if (hints.fixed !== undefined && hints.argument !== undefined && hints.argument !== hints.fixed) {
    return { projects, reason: `This server serves only the project "${hints.fixed}"` };
  }
  const rule = hints.fixed === undefined ? "argument" : "option";
  if (named === MACHINE_ID) {
    const folders = candidates.map((one) => realFolder(one.folder));
    const root = folders.find((one) => one !== null) ?? hints.home;
    return { project_id: MACHINE_ID, root, rule };
  }
  const byId = projects.find((project) => project.id === named);
  if (byId) return { project_id: byId.id, root: pickRoot(byId, candidates), rule };
  const real = isAbsolute(named) ? realFolder(named) : null;
  if (real === null) return { projects, reason: `No project is registered as "${named}"` };
  const found = findUpwards(real, hints.home, projects);
  if (found?.project) return { project_id: found.project.id, root: found.root, rule };
  return { projects, reason: `${found?.root ?? real} is not a registered project` };
}

/** The root in which the host works, if it is one of the project's; else its first. */
function pickRoot(project: Known, candidates: Candidate[]): string {
  for (const { folder } of candidates) {
    const real = realFolder(folder);
    const root = project.roots.find((root) => real !== null && isInside(real, root));
    if (root) return root;
  }
  return project.roots[0] ?? "";
}

function listCandidates(hints: Hints): Candidate[] {
  const list: Candidate[] = [];
  if (hints.workspaces.length === 1) {
    list.push({ rule: "codex_workspace", folder: hints.workspaces[0]! });
  }
  const folders = hints.roots.map(folderOfUri).filter((folder) => folder !== null);
  if (folders.length === 1) list.push({ rule: "mcp_root", folder: folders[0]! });
  if (hints.claude_project_dir && isAbsolute(hints.claude_project_dir)) {
    list.push({ rule: "claude_project_dir", folder: hints.claude_project_dir });
  }
  list.push({ rule: "cwd", folder: hints.cwd });
  return list;
}

/** The folders that the host of a tool call works in, by the call's `_meta`. */
export function workspacesIn(meta: Record<string, unknown> = {}): string[] {
  return HOSTS.flatMap(({ workspaces }) => workspaces?.(meta) ?? []).filter((one) =>
    isAbsolute(one)
  );
}

function folderOfUri(uri: string): string | null {
  try {
    return uri.startsWith("file:") ? fileURLToPath(uri) : null;
  } catch {
    return null;
  }
}

/** The nearest folder, going up, that is registered or has a config; never `/` or the home. */
function findUpwards(
  folder: string,
  home: string,
  projects: Known[],
): { root: string; project: Known | null } | null {
  for (let at = folder; isOrdinary(at, home); at = dirname(at)) {
    const project = projectOfFolder(at, projects);
    if (project) return { root: at, project };
    if (isFile(join(at, "gate.config.json"))) return { root: at, project: null };
  }
  return null;
}

function isOrdinary(folder: string, home: string): boolean {
  return folder !== home && dirname(folder) !== folder;
}

function isInside(folder: string, outer: string): boolean {
  const way = relative(outer, folder);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function realFolder(path: string): string | null {
  try {
    const real = realpathSync.native(path);
    return statSync(real).isDirectory() ? real : null;
  } catch {
    return null;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
