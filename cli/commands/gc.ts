import { Command } from "@commander-js/extra-typings";
import type { GcInput, GcResult } from "../../server/retention/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { openConnection, scopedClient } from "../daemon/connect.ts";
import { CliError, EXIT, Exit } from "../errors.ts";
import type { Io } from "../io.ts";
import { paint, print, printJson, say, sizeOf } from "../terminal/output.ts";
import { withSpinner } from "../terminal/prompts.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate gc`: drops the contents of old, settled actions. */
export function createCommand(io: Io) {
  return new Command("gc")
    .description("Drop old file contents and outputs, as retention in the global config says.")
    .option("--project <id>", "only this project (default: all projects)")
    .option("--dry-run", "only show what would be dropped")
    .option("--days <n>", "with --dry-run: as if this number of days were in the config")
    .option("--json", "print JSON")
    .addHelpText("after", HELP)
    .action(async ({ project, dryRun = false, days, json }) => {
      if (days !== undefined && !dryRun) {
        throw new CliError("Cannot use --days: it is only for a dry run", {
          next: `gate gc --dry-run --days ${visibleLine(days)}`,
          exit: EXIT.usage,
        });
      }
      const input = { dry_run: dryRun, ...days !== undefined && { days: readDays(days) } };
      const { results, refusals } = await withSpinner(
        io,
        dryRun ? "Looking for old contents" : "Dropping old contents",
        () => collect(io, input, project),
      );
      if (json) printJson(io, project === undefined ? results : results[0]);
      else for (const result of results) print(io, describe(io, result));
      for (const { id, error } of refusals) {
        say(io, `${paint(io, "red", "✗")} ${visibleLine(id)}: ${visibleLine(error.message)}`);
      }
      if (refusals.length > 0) throw new Exit(EXIT.failed);
    });
}

const HELP = `
Set "retention": { "days": 90 } in the global config to keep contents for 90 days. It has no effect
until a person accepts it (gate config accept). An action is settled when it is not held, not
running, and not approved and still to run. Its record and the audit log stay and still verify; its
texts are no longer shown, and it can no longer be rolled back. gate keeps the contents that a newer
action needs. The ledger's file keeps its size, and new contents use the free space.

Examples:
  gate gc --dry-run --days 90
  gate gc
  gate gc --project web --json
`;

function readDays(text: string): number {
  if (/^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= 36_500) return Number(text);
  throw new CliError(
    `Cannot read --days "${visibleLine(text)}": it is not a number of days from 1 to 36500`,
    {
      next: "gate gc --dry-run --days 90",
      exit: EXIT.usage,
    },
  );
}

async function collect(
  io: Io,
  json: Partial<GcInput>,
  project: string | undefined,
): Promise<{ results: GcResult[]; refusals: { id: string; error: ProblemError }[] }> {
  const connection = await openConnection(io, { scope: "reviewer" });
  const ids = project !== undefined
    ? [project]
    : (await unwrap(connection.client.api.hub.projects.$get())).items.map(({ id }) => id);
  const results: GcResult[] = [];
  const refusals: { id: string; error: ProblemError }[] = [];
  for (const id of ids) {
    const { api } = scopedClient(connection, id);
    try {
      results.push(await unwrap(api.retention.gc.$post({ json })));
    } catch (error) {
      // The refusal of one project does not hold up the others.
      if (!(error instanceof ProblemError) || ids.length === 1) throw error;
      refusals.push({ id, error });
    }
  }
  const [first] = refusals;
  if (first && results.length === 0) throw first.error;
  return { results, refusals };
}

function describe(
  io: Io,
  { project_id, dry_run, until, dropped, needed, obstacle }: GcResult,
): string {
  const verb = dry_run ? "would drop" : "dropped";
  const sign = dry_run ? "·" : paint(io, "green", "✓");
  const kept = needed.contents === 0 ? "" : `; newer actions need ${amount(needed)}`;
  const now = obstacle === null
    ? ""
    : `\n  A call without --dry-run would be refused now: ${visibleLine(obstacle)}`;
  return `${sign} ${visibleLine(project_id)}: ${verb} ${amount(dropped)} from before ` +
    `${until.slice(0, 10)}${kept}${now}`;
}

function amount({ contents, bytes }: GcResult["dropped"]): string {
  const number = contents.toLocaleString("en");
  return `${number} ${contents === 1 ? "content" : "contents"} (${sizeOf(bytes)})`;
}
