import { Command } from "@commander-js/extra-typings";
import { unwrap } from "../../server/client.ts";
import { connect } from "../daemon/connect.ts";
import { EXIT, Exit, type Failure, failureOf } from "../errors.ts";
import {
  instructionFiles,
  type Instructions,
  planInstructions,
  requireRoot,
  updateInstructions,
} from "../hosts/instructions.ts";
import { redactedDiff } from "../hosts/redacted_diff.ts";
import type { Io } from "../io.ts";
import { print, printJson, say, sayFailure } from "../terminal/output.ts";
import { placeOf } from "../place.ts";
import { requireProjectRoot } from "../project.ts";
import { visibleLine } from "../terminal/visible.ts";

interface UpdateOptions {
  all?: boolean;
  check?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

/** One file in the output of `gate update-instructions --json`. */
interface Line extends Failure {
  root: string;
  file: string | null;
  outcome: Instructions["outcome"] | "failed";
  backup?: string | null;
  diff?: string;
}

/** `gate update-instructions`: describes gate in the instruction files that agents read. */
export function createCommand(io: Io) {
  return new Command("update-instructions")
    .description(
      "Add or update a block about gate in the project's instruction files for agents.",
    )
    .option("--all", "update all registered projects")
    .option("--check", "change nothing; show the difference and exit 1 if a file is outdated")
    .option("--dry-run", "show the changes and write nothing")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async (options) => await update(io, options));
}

async function update(io: Io, options: UpdateOptions): Promise<void> {
  const isPreview = Boolean(options.check || options.dryRun);
  const lines: Line[] = [];
  for (const root of options.all ? await allRoots(io) : [requireProjectRoot(io)]) {
    lines.push(...await updateRoot(io, root, isPreview));
  }
  if (options.json) printJson(io, { check: Boolean(options.check), files: lines });
  else show(io, lines, isPreview);
  const isOutdated = lines.some(({ outcome }) => outcome === "created" || outcome === "updated");
  if (options.check && isOutdated) say(io, "Outdated. Update: gate update-instructions");
  else if (options.dryRun) say(io, "Nothing was written (--dry-run).");
  const failed = lines.some(({ outcome }) => outcome === "failed");
  if (failed || (options.check && isOutdated)) throw new Exit(EXIT.failed);
}

async function allRoots(io: Io): Promise<string[]> {
  const client = await connect(io, { scope: "viewer" });
  const { items } = await unwrap(client.api.hub.projects.$get());
  return items.flatMap(({ roots }) => roots);
}

async function updateRoot(io: Io, root: string, isPreview: boolean): Promise<Line[]> {
  let files: string[];
  try {
    requireRoot(root);
    files = instructionFiles(root);
  } catch (error) {
    return [{ root, file: null, outcome: "failed", ...failureOf(error) }];
  }
  const lines: Line[] = [];
  const seen = new Set<string>();
  for (const path of files) {
    try {
      const plan = planInstructions(root, path);
      // CLAUDE.md is often a link to AGENTS.md: each real file is updated once.
      if (seen.has(plan.file.real)) continue;
      seen.add(plan.file.real);
      lines.push(await lineOf(io, { root, plan, isPreview }));
    } catch (error) {
      lines.push({ root, file: path, outcome: "failed", ...failureOf(error) });
    }
  }
  return lines;
}

async function lineOf(
  io: Io,
  { root, plan, isPreview }: { root: string; plan: Instructions; isPreview: boolean },
): Promise<Line> {
  const { path: file, outcome } = plan;
  if (outcome === "unchanged") return { root, file, outcome };
  if (isPreview) {
    const diff = redactedDiff(file, plan.file.text, plan.after).join("\n");
    return { root, file, outcome, diff };
  }
  const { backup } = await updateInstructions(root, file, placeOf(io).home);
  return { root, file, outcome, backup };
}

function show(io: Io, lines: Line[], isPreview: boolean): void {
  for (const { root, file, outcome, diff, problem, next, backup } of lines) {
    if (problem) {
      sayFailure(io, { problem, next });
      continue;
    }
    const word = isPreview ? PREVIEW_WORDS[outcome] : outcome;
    print(io, `${word.padEnd(10)}  ${visibleLine(`${root}/${file}`)}`);
    if (backup) print(io, `            backup: ${backup}`);
    if (diff) print(io, diff);
  }
}

const PREVIEW_WORDS = {
  created: "missing",
  updated: "outdated",
  unchanged: "unchanged",
  failed: "failed",
};

const HELP = `
The section stands between two marker lines; all other text stays unchanged. It goes into AGENTS.md,
or into the files of the platforms in gate.config.json (gate init --platform). It also goes into
existing instruction files of other agents, such as CLAUDE.md.

Examples:
  gate update-instructions
  gate update-instructions --all
  gate update-instructions --check        in CI: exit 1 if a file is outdated
`;
