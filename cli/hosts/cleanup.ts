import { existsSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import {
  type ConfigFile,
  openConfig,
  openInProject,
  refuseReadOnly,
  retryOnConflict,
  saveConfig,
} from "./edit/config_file.ts";
import { editText, isRecord, valueAt } from "./edit/text_editor.ts";
import type { Host } from "./host.ts";
import { HOSTS } from "./hosts.ts";
import type { Machine } from "./machine.ts";
import { isOldEntry, SERVER_NAME } from "./ours.ts";

/** A config file that may hold old entries. */
export interface Candidate {
  host: Host;
  path: string;
  /** The project it belongs to; null for a file of the user. */
  root: string | null;
}

/** What is taken out of one config file. */
export interface Cleanup {
  candidate: Candidate;
  file: ConfigFile;
  after: string;
  removed: Server[];
  /** Servers with a name like ours that stay. */
  kept: Server[];
}

/** An entry by its name, and by the project it stands under in a file of the user. */
export interface Server {
  name: string;
  project: string | null;
}

/** Every config file of this machine and those projects that exists. */
export function findCandidates(machine: Machine, roots: readonly string[]): Candidate[] {
  const found: Candidate[] = [];
  for (const host of HOSTS) {
    const paths = host.files(machine).map(({ path }) => path);
    for (const path of [...paths, ...host.also?.(machine) ?? []]) {
      found.push({ host, path, root: null });
    }
    for (const root of roots) {
      for (const name of host.project_files) found.push({ host, path: join(root, name), root });
    }
  }
  const seen = new Set<string>();
  return found.filter(({ path }) => existsSync(path) && !seen.has(path) && seen.add(path));
}

/** The projects that Claude Code remembers. */
export function projectsOfClaude(machine: Machine): string[] {
  const host = HOSTS.find(({ id }) => id === "claude-code")!;
  return host.files(machine).flatMap(({ path }) => {
    try {
      const projects = host.editor.read(openConfig(path).text ?? "", path).projects;
      return isRecord(projects) ? Object.keys(projects).filter(isAbsolute) : [];
    } catch {
      return []; // the file itself is reported where it is cleaned up
    }
  });
}

/** Looks for old entries in one file; changes nothing. @throws CliError */
export function planCleanup(candidate: Candidate): Cleanup {
  const { host, path, root } = candidate;
  const file = root === null ? openConfig(path) : openInProject(root, relative(root, path));
  const before = file.text ?? "";
  const document = host.editor.read(before, path);
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
  const after = changes.length > 0 ? editText(host.editor, before, changes, path) : before;
  return { candidate, file, after, removed, kept };
}

/** Removes the old entries of one file. Returns what was done, and where the old file is kept. */
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

/** Where servers stand; Claude Code also keeps some for single projects in its user's file. */
function containersOf(host: Host, document: Record<string, unknown>) {
  const containers: { at: readonly string[]; project: string | null }[] = [
    { at: host.servers, project: null },
  ];
  if (host.id === "claude-code" && isRecord(document.projects)) {
    for (const project of Object.keys(document.projects)) {
      containers.push({ at: ["projects", project, ...host.servers], project });
    }
  }
  return containers;
}
