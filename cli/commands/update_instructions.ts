import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { connect } from "../daemon/connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import {
  instructionFiles,
  type Instructions,
  planInstructions,
  requireRoot,
  updateInstructions,
} from "../hosts/instructions.ts";
import { redactedDiff } from "../hosts/redacted_diff.ts";
import type { Io } from "../io.ts";
import { print, printJson, say } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { findRoot } from "../project.ts";
import { visibleLine } from "../terminal/visible.ts";

interface UpdateOptions {
  all?: boolean;
  check?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/** One file in the answer of `gate update-instructions --json`. */
interface Line {
  root: string;
  file: string | null;
  outcome: Instructions["outcome"] | "failed";
  backup?: string | null;
  diff?: string;
  problem?: string;
  next?: string | null;
}

/** `gate update-instructions`: tells agents of the gate, in the files that they read. */
export function createCommand(io: Io) {
  return new Command("update-instructions")
    .description("Keep a block about the gate in the project's instruction files for agents.")
    .option("--all", "in all registered projects")
    .option("--check", "change nothing; exit 1 and show the difference where one is outdated")
    .option("--dry-run", "show what would change and write nothing")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (options) => await update(io, options));
}

async function update(io: Io, options: UpdateOptions): Promise<void> {
  const isLook = Boolean(options.check || options.dryRun);
  const lines: Line[] = [];
  for (const root of options.all ? await allRoots(io) : [requireProject(io)]) {
    lines.push(...await updateRoot(io, root, isLook));
  }
  if (options.json) printJson(io, { check: Boolean(options.check), files: lines });
  else show(io, lines, isLook);
  const isOutdated = lines.some(({ outcome }) => outcome === "created" || outcome === "updated");
  if (options.check && isOutdated) say(io, "Outdated: gate update-instructions");
  else if (options.dryRun) say(io, "Nothing was written (--dry-run).");
  const failed = lines.some(({ outcome }) => outcome === "failed");
  if (failed || (options.check && isOutdated)) throw new Exit(EXIT.failed);
}

function requireProject(io: Io): string {
  const root = findRoot(io);
  if (root) return root;
  throw new CliError("This folder belongs to no project", { next: "gate init" });
}

async function allRoots(io: Io): Promise<string[]> {
  const client = await connect(io, { scope: "viewer" });
  const { items } = await unwrap(client.api.hub.projects.$get());
  return items.flatMap(({ roots }) => roots);
}

async function updateRoot(io: Io, root: string, isLook: boolean): Promise<Line[]> {
  let files: string[];
  try {
    requireRoot(root);
    files = instructionFiles(root);
  } catch (error) {
    return [failure(root, null, error)];
  }
  const lines: Line[] = [];
  const seen = new Set<string>();
  for (const path of files) {
    try {
      const plan = planInstructions(root, path);
      // One file may have several names: a link of CLAUDE.md to AGENTS.md is usual.
      if (seen.has(plan.file.real)) continue;
      seen.add(plan.file.real);
      lines.push(await lineOf(io, { root, plan, isLook }));
    } catch (error) {
      lines.push(failure(root, path, error));
    }
  }
  return lines;
}

async function lineOf(
  io: Io,
  { root, plan, isLook }: { root: string; plan: Instructions; isLook: boolean },
): Promise<Line> {
  const { path: file, outcome } = plan;
  if (outcome === "unchanged") return { root, file, outcome };
  if (isLook) {
    const diff = redactedDiff(file, plan.file.text, plan.after).join("\n");
    return { root, file, outcome, diff };
  }
  const { backup } = await updateInstructions(root, file, placeOf(io).home);
  return { root, file, outcome, backup };
}

function failure(root: string, file: string | null, error: unknown): Line {
  const next = error instanceof CliError ? error.next : null;
  return { root, file, outcome: "failed", problem: (error as Error).message, next };
}

function show(io: Io, lines: Line[], isLook: boolean): void {
  for (const { root, file, outcome, diff, problem, next, backup } of lines) {
    if (problem) {
      say(io, `gate: ${visibleLine(problem)}`);
      if (next) say(io, `  try: ${visibleLine(next)}`);
      continue;
    }
    const word = isLook ? LOOKS[outcome] : outcome;
    print(io, `${word.padEnd(10)}  ${visibleLine(`${root}/${file}`)}`);
    if (backup) print(io, `            backup: ${backup}`);
    if (diff) print(io, diff);
  }
}

const LOOKS = {
  created: "missing",
  updated: "outdated",
  unchanged: "unchanged",
  failed: "failed",
};

const HELP = `
The block is between two marks; gate changes nothing outside of them. It goes into AGENTS.md, or
into the files of the platforms that gate.config.json names (gate init --platform), and into the
files of other agents that exist already, such as CLAUDE.md.

Examples:
  gate update-instructions
  gate update-instructions --all
  gate update-instructions --check        in CI: exit 1 when it is outdated
`;
