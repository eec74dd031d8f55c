import { existsSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import type { AgentHost } from "../../server/hosts/host.ts";
import { HOSTS } from "../../server/hosts/hosts.ts";
import {
  type ConfigFile,
  openConfig,
  openInProject,
  refuseReadOnly,
  retryOnConflict,
  saveConfig,
} from "./edit/config_file.ts";
import { editText, isRecord, valueAt } from "./edit/text_editor.ts";
import { EDITORS, everyUserFile } from "./hosts.ts";
import type { Machine } from "./machine.ts";
import { isOldEntry, SERVER_NAME } from "./ours.ts";

/** A config file that may hold old entries. */
export interface Candidate {
  host: AgentHost;
  path: string;
  /** The root of its project; null for a file of the user. */
  root: string | null;
}

/** The removals from one config file. */
export interface Cleanup {
  candidate: Candidate;
  file: ConfigFile;
  after: string;
  removed: Server[];
  /** Servers that stay although their name looks like ours. */
  kept: Server[];
}

/** An entry by its name, and by its project when a file of the user lists it for one project. */
export interface Server {
  name: string;
  project: string | null;
}

/** Every existing config file of this machine and of those projects. */
export function findCandidates(machine: Machine, roots: readonly string[]): Candidate[] {
  const found: Candidate[] = [];
  for (const host of HOSTS) {
    for (const path of everyUserFile(host, machine)) found.push({ host, path, root: null });
    for (const root of roots) {
      for (const name of host.mcp.project_files) found.push({ host, path: join(root, name), root });
    }
  }
  const seen = new Set<string>();
  return found.filter(({ path }) => existsSync(path) && !seen.has(path) && seen.add(path));
}

/** The folders of the projects that hosts list in their user files. */
export function projectsOfHosts(machine: Machine): string[] {
  return HOSTS.filter(({ mcp }) => mcp.projects_key !== undefined).flatMap((host) =>
    everyUserFile(host, machine).flatMap((path) => {
      try {
        const document = EDITORS[host.mcp.format].read(openConfig(path).text ?? "", path);
        return projectsIn(host, document).filter(isAbsolute);
      } catch {
        return []; // cleanUp() reports the file
      }
    })
  );
}

/** Finds the old entries of one file. @throws CliError when the file cannot be edited */
export function planCleanup(candidate: Candidate): Cleanup {
  const { host, path, root } = candidate;
  const file = root === null ? openConfig(path) : openInProject(root, relative(root, path));
  const before = file.text ?? "";
  const editor = EDITORS[host.mcp.format];
  const document = editor.read(before, path);
  const removed: Server[] = [];
  const kept: Server[] = [];
  const paths: string[][] = [];
  for (const { at, project } of containersOf(host, document)) {
    const scope = root === null && project === null ? "user" : "project";
    const servers = valueAt(document, at);
    for (const [name, entry] of Object.entries(isRecord(servers) ? servers : {})) {
      if (isOldEntry(name, entry, scope)) {
        removed.push({ name, project });
        paths.push([...at, name]);
      } else if (name === SERVER_NAME || name.startsWith(`${SERVER_NAME}-`)) {
        kept.push({ name, project });
      }
    }
  }
  if (paths.length > 0) refuseReadOnly(file);
  const changes = paths.map((one) => ({ path: one, value: undefined }));
  const after = changes.length > 0 ? editText(editor, before, changes, path) : before;
  return { candidate, file, after, removed, kept };
}

/** Removes the old entries of one file. Returns the removals and the path of the backup. */
export function cleanUp(
  candidate: Candidate,
  home: string,
): Promise<Cleanup & { backup: string | null }> {
  return retryOnConflict(async () => {
    const plan = planCleanup(candidate);
    if (plan.removed.length === 0) return { ...plan, backup: null };
    const backups = { home, label: candidate.host.id };
    return { ...plan, backup: await saveConfig(plan.file, plan.after, backups) };
  });
}

/** The places of servers in a document: one for the user, and one for each listed project. */
function containersOf(host: AgentHost, document: Record<string, unknown>) {
  const { key, projects_key } = host.mcp;
  const containers: { at: readonly string[]; project: string | null }[] = [
    { at: [key], project: null },
  ];
  for (const project of projectsIn(host, document)) {
    containers.push({ at: [projects_key!, project, key], project });
  }
  return containers;
}

function projectsIn({ mcp }: AgentHost, document: Record<string, unknown>): string[] {
  const projects = mcp.projects_key === undefined ? undefined : document[mcp.projects_key];
  return isRecord(projects) ? Object.keys(projects) : [];
}
