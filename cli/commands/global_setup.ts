import { Command, Option } from "@commander-js/extra-typings";
import { CliError, EXIT, Exit } from "../errors.ts";
import type { Host, Launch } from "../hosts/host.ts";
import { filesInUse, HOSTS } from "../hosts/hosts.ts";
import { type Machine, machineOf } from "../hosts/machine.ts";
import { launchOf, SERVER_NAME } from "../hosts/ours.ts";
import { redactedDiff } from "../hosts/redacted_diff.ts";
import { register, type Registered } from "../hosts/register.ts";
import { planRegistration } from "../hosts/registration.ts";
import { PLATFORMS } from "../init/choices.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say } from "../output.ts";
import { placeOf } from "../place.ts";
import { visibleLine } from "../visible.ts";

interface SetupOptions {
  host: string[];
  dryRun?: boolean;
  json?: boolean;
}

/** What `gate global-setup --json` says of one config file. */
interface Line {
  host: string;
  outcome: "added" | "updated" | "unchanged" | "not_installed" | "failed";
  file: string | null;
  via?: Registered["via"];
  backup?: string | null;
  diff?: string;
  problem?: string;
  next?: string | null;
}

/** `gate global-setup`: registers the one MCP entry for every project in the agent hosts. */
export function createCommand(io: Io) {
  return new Command("global-setup")
    .description("Register gate's one MCP server in the agent hosts of this machine.")
    .addOption(
      new Option("--host <id...>", "only these hosts, installed or not").choices(PLATFORMS)
        .default([] as string[]),
    )
    .option("--dry-run", "show what would change and write nothing")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (options) => await setUp(io, options as SetupOptions));
}

async function setUp(io: Io, { host: asked, dryRun = false, json }: SetupOptions): Promise<void> {
  const machine = machineOf(io);
  const launch = launchOf(machine, placeOf(io));
  const lines: Line[] = [];
  for (const host of HOSTS.filter(({ id }) => asked.length === 0 || asked.includes(id))) {
    for (const path of filesOf(host, machine, asked.length > 0)) {
      lines.push(await setUpFile(io, { host, path, launch, machine, dryRun }));
    }
  }
  if (json) {
    const server = { name: SERVER_NAME, ...launch };
    printJson(io, { dry_run: dryRun, server, hosts: lines });
  } else show(io, lines, dryRun);
  if (lines.some(({ outcome }) => outcome === "failed")) throw new Exit(EXIT.failed);
}

function filesOf(host: Host, machine: Machine, isAsked: boolean): (string | null)[] {
  const used = filesInUse(host, machine);
  if (used.length > 0) return used;
  return [isAsked ? host.files(machine)[0]!.path : null];
}

interface Task {
  host: Host;
  path: string | null;
  launch: Launch;
  machine: Machine;
  dryRun: boolean;
}

async function setUpFile(io: Io, { host, path, launch, machine, dryRun }: Task): Promise<Line> {
  if (path === null) return { host: host.id, outcome: "not_installed", file: null };
  try {
    if (dryRun) {
      const { outcome, file, after } = planRegistration(host, path, launch);
      const diff = outcome === "unchanged" ? [] : redactedDiff(path, file.text, after);
      return { host: host.id, outcome, file: path, diff: diff.join("\n") };
    }
    const around = { machine, home: placeOf(io).home };
    const { outcome, via, backup } = await register(host, path, launch, around);
    return { host: host.id, outcome, file: path, via, backup };
  } catch (error) {
    const { message } = error as Error;
    const next = error instanceof CliError ? error.next : null;
    return { host: host.id, outcome: "failed", file: path, problem: message, next };
  }
}

function show(io: Io, lines: Line[], dryRun: boolean): void {
  for (const line of lines) {
    if (line.outcome === "failed") {
      print(io, `${paint(io, "red", "failed")}         ${line.host}`);
      say(io, `gate: ${visibleLine(line.problem ?? "")}`);
      if (line.next) say(io, `  try: ${visibleLine(line.next)}`);
      continue;
    }
    const word = (dryRun ? WOULD : DID)[line.outcome].padEnd(13);
    print(io, `${word}  ${line.host}${line.file ? `  ${visibleLine(line.file)}` : ""}`);
    if (line.backup) print(io, paint(io, "dim", `               the old one: ${line.backup}`));
    if (line.diff) print(io, colourDiff(io, line.diff));
    const host = HOSTS.find(({ id }) => id === line.host)!;
    const isNew = line.outcome === "added" || line.outcome === "updated";
    if (isNew && !dryRun) print(io, `               then: ${host.afterwards}`);
  }
  if (dryRun) say(io, "Nothing was written (--dry-run).");
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
  unchanged: "unchanged",
  not_installed: "not installed",
};
const WOULD = { ...DID, added: "would add", updated: "would update" };

const HELP = `
One entry serves every project: which one is meant is found when a tool is called. Comments, order
and everything else in the hosts' files stay; the old file is kept under the gate's home. Hosts that
are not installed are named and left alone, unless --host asks for them.

Examples:
  gate global-setup --dry-run              shows every change and makes none
  gate global-setup
  gate global-setup --host claude-code --host codex
`;
