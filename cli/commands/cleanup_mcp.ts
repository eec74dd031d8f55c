import { Command } from "@commander-js/extra-typings";
import { EXIT, Exit, type Failure, failureOf } from "../errors.ts";
import {
  type Candidate,
  type Cleanup,
  cleanUp,
  findCandidates,
  planCleanup,
  projectsOfHosts,
  type Server,
} from "../hosts/cleanup.ts";
import { machineOf } from "../hosts/machine.ts";
import { SERVER_NAME } from "../hosts/ours.ts";
import { redactedDiff } from "../hosts/redacted_diff.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say, sayFailure } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { findRoot } from "../project.ts";
import { askDaemon } from "../service/take_over.ts";
import { visibleLine } from "../terminal/visible.ts";

interface CleanupOptions {
  dryRun?: boolean;
  json?: boolean;
}

/** One config file in the output of `gate cleanup-mcp --json`. */
interface Line extends Failure {
  host: string;
  file: string;
  removed: Server[];
  kept: Server[];
  backup?: string | null;
  diff?: string;
}

/** `gate cleanup-mcp`: removes the MCP entries that serve a single project. */
export function createCommand(io: Io) {
  return new Command("cleanup-mcp")
    .description("Remove old MCP entries, one per project, from the agent hosts' settings.")
    .option("--dry-run", "show the entries to remove and change nothing")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (options) => await cleanUpAll(io, options));
}

async function cleanUpAll(io: Io, { dryRun = false, json }: CleanupOptions): Promise<void> {
  const machine = machineOf(io);
  const daemon = await askDaemon(io);
  const registered = daemon?.projects.flatMap(({ roots }) => roots) ?? [];
  const roots = [findRoot(io), ...registered, ...projectsOfHosts(machine)];
  const lines: Line[] = [];
  for (const candidate of findCandidates(machine, roots.filter((root) => root !== null))) {
    lines.push(await lineOf(io, candidate, dryRun));
  }
  if (json) {
    printJson(io, { dry_run: dryRun, looked_at_projects: daemon !== null, files: lines });
  } else show(io, lines, dryRun, daemon !== null);
  if (lines.some(({ problem }) => problem)) throw new Exit(EXIT.failed);
}

async function lineOf(io: Io, candidate: Candidate, dryRun: boolean): Promise<Line> {
  const { host: { id: host }, path: file } = candidate;
  try {
    if (!dryRun) {
      const { removed, kept, backup } = await cleanUp(candidate, placeOf(io).home);
      return { host, file, removed, kept, backup };
    }
    const plan: Cleanup = planCleanup(candidate);
    const { removed, kept } = plan;
    const diff = removed.length === 0 ? [] : redactedDiff(file, plan.file.text, plan.after);
    return { host, file, removed, kept, diff: diff.join("\n") };
  } catch (error) {
    return { host, file, removed: [], kept: [], ...failureOf(error) };
  }
}

function show(io: Io, lines: Line[], dryRun: boolean, knowsProjects: boolean): void {
  for (const { host, file, removed, kept, backup, diff, problem, next } of lines) {
    if (problem) sayFailure(io, { problem, next });
    for (const server of removed) {
      const word = dryRun ? "would remove" : "removed";
      print(io, `${word.padEnd(12)}  ${host}  ${nameOf(server)}  ${visibleLine(file)}`);
    }
    for (const server of kept) {
      print(io, `kept          ${host}  ${nameOf(server)}  ${visibleLine(file)}`);
    }
    if (backup) print(io, paint(io, "dim", `              backup: ${backup}`));
    if (diff) print(io, diff);
  }
  const count = lines.reduce((sum, { removed }) => sum + removed.length, 0);
  if (count === 0) print(io, "No old entry was found.");
  if (!knowsProjects) {
    say(io, "The daemon does not run, so the projects that only it knows were not searched.");
  }
  if (count > 0 && !lines.some(({ kept }) => kept.some(({ name }) => name === SERVER_NAME))) {
    say(io, "No host has the entry for all projects yet. Add it: gate global-setup");
  }
  if (dryRun) say(io, "Nothing was written (--dry-run).");
}

function nameOf({ name, project }: Server): string {
  return visibleLine(project === null ? name : `${name} (for ${project})`);
}

const HELP = `
It removes only entries that are named gate-<project> and start gate. The entry for all projects,
named gate, and all other servers stay. It searches the files of all agent hosts, and those in the
projects that the daemon or Claude Code knows. It keeps a backup of each file in gate's data folder.

Examples:
  gate cleanup-mcp --dry-run
  gate cleanup-mcp
`;
