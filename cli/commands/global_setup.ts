import { Command, Option } from "@commander-js/extra-typings";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentHost } from "../../server/hosts/host.ts";
import { HOOKED_HOSTS, HOSTS, isHooked, PLATFORMS } from "../../server/hosts/hosts.ts";
import { waitingRoots } from "../daemon/waiting_roots.ts";
import { EXIT, Exit, type Failure, failureOf } from "../errors.ts";
import { projectsOfHosts } from "../hosts/cleanup.ts";
import { filesInUse, hostById, userFiles } from "../hosts/hosts.ts";
import { setStatusLine } from "../hosts/status_line.ts";
import { type Machine, machineOf } from "../hosts/machine.ts";
import { type Launch, launchOf, SERVER_NAME } from "../hosts/ours.ts";
import { hasOldHooks } from "../hosts/enforce.ts";
import { enforceHosts, type HookReport, showReports } from "../hosts/enforce_report.ts";
import { redactedDiff } from "../hosts/redacted_diff.ts";
import {
  planRegistration,
  planRemoval,
  register,
  type Registered,
  unregister,
} from "../hosts/register.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say, sayFailure } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { findRoot } from "../project.ts";
import { offerPassphrase } from "../proof/offer.ts";
import { askDaemon } from "../service/take_over.ts";
import { visibleLine } from "../terminal/visible.ts";

interface SetupOptions {
  host: string[];
  dryRun?: boolean;
  json?: boolean;
  /** True installs the hooks, false removes them, undefined leaves them unchanged. */
  enforce?: boolean;
  /** Whether to remove the entry and the hooks. */
  remove?: boolean;
  /** Whether to keep the rate limits that Claude Code tells its status line. */
  statusline?: boolean;
}

/** One config file in the output of `gate global-setup --json`. */
interface Line extends Failure {
  host: string;
  outcome: Registered["outcome"] | "not_installed" | "failed";
  file: string | null;
  via?: Registered["via"];
  backup?: string | null;
  diff?: string;
}

/** `gate global-setup`: registers one MCP entry for all projects in the agent hosts. */
export function createCommand(io: Io) {
  return new Command("global-setup")
    .description("Register gate's MCP server in the agent hosts of this machine.")
    .addOption(
      new Option("--host <id...>", "only these hosts, even if they are not installed").choices(
        PLATFORMS,
      )
        .default([] as string[], "all installed hosts"),
    )
    .option("--enforce", "also check the hosts' own tools, with the hosts' hooks")
    .option("--no-enforce", "remove those hooks")
    .addOption(
      new Option("--remove", "remove gate's entry and its hooks from the agent hosts").conflicts(
        "enforce",
      ),
    )
    .option("--statusline", "also keep the rate limits that Claude Code tells its status line")
    .option("--dry-run", "show the changes and write nothing")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (options, command) => {
      // If neither option is given, commander sets "enforce" to true: ignore that default.
      const isSaid = command.getOptionValueSource("enforce") === "cli";
      const { enforce, ...rest } = options;
      const hooks = rest.remove ? { enforce: false } : isSaid ? { enforce } : {};
      await setUp(io, { ...rest, ...hooks } as SetupOptions);
    });
}

async function setUp(io: Io, options: SetupOptions): Promise<void> {
  const { host: asked, dryRun = false, json, remove = false } = options;
  const machine = machineOf(io);
  const launch = launchOf(machine, placeOf(io));
  const lines: Line[] = [];
  // The hosts list these projects in the files that the loop below edits.
  const projects = remove ? await listProjects(io, machine) : null;
  const hosts = HOSTS.filter(({ id }) => asked.length === 0 || asked.includes(id));
  for (const host of hosts) {
    for (const path of filesOf(host, machine, asked.length > 0)) {
      lines.push(await setUpFile(io, { host, path, launch, machine, dryRun, remove }));
    }
  }
  const ofUser = await setUpHooks(io, hosts, options);
  const ofProjects = await removeFromProjects(io, hosts, { roots: projects?.roots ?? [], dryRun });
  const hooks = ofUser && [...ofUser, ...ofProjects];
  const line = options.statusline || remove
    ? setStatusLine({
      ...{ machine, launch, home: placeOf(io).home, dryRun },
      install: !remove,
    })
    : null;
  if (json) {
    const server = { name: SERVER_NAME, ...launch };
    printJson(io, {
      dry_run: dryRun,
      server,
      hosts: lines,
      ...(hooks ? { hooks } : {}),
      ...(line ? { statusline: line } : {}),
    });
  } else {
    show(io, lines);
    showReports(io, hooks ?? [], dryRun);
    if (line && line.outcome !== "unchanged") {
      print(io, `Status line ${(dryRun ? WOULD : DID)[line.outcome]}: ${line.file}`);
    }
    if (dryRun) say(io, "Nothing was written (--dry-run).");
    else if (!remove) await offerPassphrase(io, { asks: true });
  }
  if (projects?.isComplete === false) say(io, SOME_PROJECTS);
  const all = [...lines, ...hooks ?? []];
  if (all.some(({ outcome }) => outcome === "failed")) throw new Exit(EXIT.failed);
}

/**
 * The changes of the hooks. Without --enforce and --no-enforce it changes only hooks of an older gate
 * that let tools run when gate does not start; null if there are none.
 */
async function setUpHooks(
  io: Io,
  hosts: readonly AgentHost[],
  { host: asked, dryRun = false, enforce }: SetupOptions,
): Promise<HookReport[] | null> {
  const machine = machineOf(io);
  const { home } = placeOf(io);
  const around = { machine, home, root: null, launch: launchOf(machine, placeOf(io)) };
  if (enforce === undefined) {
    const old = hosts.filter((host) => isHooked(host) && hasOldHooks(host, machine));
    if (old.length === 0) return null;
    return await enforceHosts(old, { ...around, install: true, isAsked: true, dryRun });
  }
  const isAsked = asked.length > 0;
  const known = await enforceHosts(hosts, { ...around, install: enforce, isAsked, dryRun });
  return known.filter(({ outcome, host }) =>
    outcome !== "no_hooks" ||
    (enforce && filesInUse(hostById(host), machine).length > 0)
  );
}

/** The folders of all known projects; complete only if the daemon answers. */
async function listProjects(
  io: Io,
  machine: Machine,
): Promise<{ roots: string[]; isComplete: boolean }> {
  const daemon = await askDaemon(io).catch(() => null);
  const registered = daemon?.projects.flatMap(({ roots }) => roots) ?? [];
  const here = findRoot(io);
  const others = [...waitingRoots(placeOf(io).home), ...projectsOfHosts(machine)];
  const roots = [...new Set([...here ? [here] : [], ...registered, ...others])];
  return { roots, isComplete: daemon !== null };
}

/** Removes the hooks that `gate init --enforce` wrote into these projects. */
async function removeFromProjects(
  io: Io,
  hosts: readonly AgentHost[],
  { roots, dryRun }: { roots: string[]; dryRun: boolean },
): Promise<HookReport[]> {
  const machine = machineOf(io);
  const { home } = placeOf(io);
  const launch = launchOf(machine, placeOf(io));
  const reports: HookReport[] = [];
  for (const root of roots) {
    const used = hosts.filter((host) =>
      isHooked(host) && existsSync(join(root, host.hooks.settings.project_file))
    );
    const around = { machine, launch, home, root, install: false, isAsked: true, dryRun };
    reports.push(...await enforceHosts(used, around));
  }
  return reports.filter(({ outcome }) => outcome !== "unchanged");
}

const SOME_PROJECTS =
  "The daemon does not run, so gate does not know all projects. A project that was set up with " +
  "gate init --enforce refuses every call without gate; run in each: gate init --yes --no-enforce";

function filesOf(host: AgentHost, machine: Machine, isAsked: boolean): (string | null)[] {
  const used = filesInUse(host, machine);
  if (used.length > 0) return used;
  return [isAsked ? userFiles(host, machine)[0]!.path : null];
}

interface Task {
  host: AgentHost;
  path: string | null;
  launch: Launch;
  machine: Machine;
  dryRun: boolean;
  remove: boolean;
}

async function setUpFile(io: Io, task: Task): Promise<Line> {
  const { host, path, launch, machine, dryRun, remove } = task;
  if (path === null) return { host: host.id, outcome: "not_installed", file: null };
  try {
    if (dryRun) {
      const plan = remove ? planRemoval(host, path) : planRegistration(host, path, launch);
      const { outcome, file, after } = plan;
      const diff = outcome === "unchanged" ? [] : redactedDiff(path, file.text, after);
      return { host: host.id, outcome, file: path, diff: diff.join("\n") };
    }
    const around = { machine, home: placeOf(io).home };
    const done = remove
      ? await unregister(host, path, around)
      : await register(host, path, launch, around);
    const { outcome, via, backup } = done;
    return { host: host.id, outcome, file: path, via, backup };
  } catch (error) {
    return { host: host.id, outcome: "failed", file: path, ...failureOf(error) };
  }
}

function show(io: Io, lines: Line[]): void {
  for (const line of lines) {
    const dryRun = line.diff !== undefined;
    if (line.outcome === "failed") {
      print(io, `${paint(io, "red", "failed")}         ${line.host}`);
      sayFailure(io, line);
      continue;
    }
    const word = (dryRun ? WOULD : DID)[line.outcome].padEnd(13);
    print(io, `${word}  ${line.host}${line.file ? `  ${visibleLine(line.file)}` : ""}`);
    if (line.backup) print(io, paint(io, "dim", `               backup: ${line.backup}`));
    if (line.diff) print(io, colourDiff(io, line.diff));
    const host = hostById(line.host);
    const isNew = line.outcome === "added" || line.outcome === "updated";
    if (isNew && !dryRun) print(io, `               then: ${host.mcp.afterwards}`);
  }
}

function colourDiff(io: Io, diff: string): string {
  return diff.split("\n").map((line) => {
    if (line.startsWith("+")) return paint(io, "green", line);
    return line.startsWith("-") ? paint(io, "red", line) : line;
  }).join("\n");
}

const DID = {
  added: "added",
  updated: "updated",
  removed: "removed",
  unchanged: "unchanged",
  not_installed: "not installed",
};
const WOULD = { ...DID, added: "would add", updated: "would update", removed: "would remove" };

const HELP = `
One entry serves all projects: gate finds the project at each tool call. Comments, order and all
other settings in the hosts' files stay. gate keeps a backup of each file in its data folder. Hosts
that are not installed are listed and not changed, unless you name them with --host.

--remove also removes the hooks that gate init --enforce wrote into projects: the registered ones
and those that the hosts list.

With --enforce, hosts that have hooks also ask gate before each call of their own tools and of other
MCP servers' tools: ${HOOKED_HOSTS.map(({ name }) => name).join(", ")}.
With --statusline, gate stands before your status line of Claude Code and calls it. Claude Code
tells its rate limits only there, and gate agents then shows them.

In a folder of no project, gate allows reading and holds everything else for you. Rules for all
folders are in the global config (gate global-config). The calls are in the project "machine".

Examples:
  gate global-setup --enforce
  gate global-setup --dry-run
  gate global-setup
  gate global-setup --host claude-code --host codex
  gate global-setup --statusline
  gate global-setup --remove
`;
