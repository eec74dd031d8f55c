import type { Action } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import { paintLine } from "./diff.ts";
import { summarize } from "./view.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { count, say } from "../terminal/output.ts";

/** The limit for diff lines; the dashboard shows all of them. */
const MOST_LINES = 120;

/** The members of a problem about later changes of the files. */
interface LaterChanges {
  /** The values of `on_conflict` that roll back nevertheless. */
  ways?: string[];
  diff?: string | null;
  /** Of a session, with the action of each. */
  conflicts?: { action_id?: string; diff?: string | null }[];
  /** Actions outside of the selection that changed the same files later. */
  dependents?: unknown[];
}

/**
 * Prints the later changes that block a rollback, and returns its error with the option
 * `--on-conflict` in place of the API's field. Returns every other error unchanged.
 * @param command the typed command, without its options
 */
export function rollbackError(io: Io, error: unknown, command: string): unknown {
  if (!(error instanceof ProblemError)) return error;
  const { ways, diff, conflicts = [], dependents } = error.problem as LaterChanges;
  if (!ways) return error;
  showDiffs(io, [diff, ...conflicts.map(({ diff }) => diff)]);
  const step = dependents ? "roll it back too, or use" : "look at the diff, then use";
  return new CliError(
    `${error.problem.summary}; ${step} --on-conflict ${ways.join(" or ")}`,
    { next: `${command} --dry-run --on-conflict ${ways[0]}` },
  );
}

function showDiffs(io: Io, diffs: unknown[]): void {
  const texts = diffs.filter((diff): diff is string => typeof diff === "string" && diff !== "");
  const lines = texts.flatMap((text) => text.trimEnd().split("\n"))
    .filter((line) => !/^(?:={67}$|Index: )/.test(line));
  if (lines.length === 0) return;
  const left = lines.length - MOST_LINES;
  const more = left > 0 ? [`… ${left} more lines`] : [];
  const shown = lines.slice(0, MOST_LINES).map((line) => paintLine(io, line));
  say(io, [...shown, ...more].join("\n"));
}

/** The limit for requests; further rollbacks show only the id of the action that they undo. */
const MOST = 25;

/** Descriptions of the rollbacks of more than one file, by their ids. */
export async function describeRollbacks(
  connection: Connection,
  actions: readonly Action[],
): Promise<Map<string, string>> {
  const unnamed = actions.filter(({ rollback_of, path }) => rollback_of !== null && path === null);
  const listed = new Map(actions.map((action) => [action.id, action]));
  const described = unnamed.slice(0, MOST).map(async (action) =>
    [
      action.id,
      // A rollback that cannot be read must not prevent the list.
      await describeRollback(connection, action, listed).catch(() => summarize(action)),
    ] as const
  );
  return new Map(await Promise.all(described));
}

/** The undone action is usually in `listed`; only the number of files needs a request. */
async function describeRollback(
  connection: Connection,
  action: Action,
  listed: ReadonlyMap<string, Action>,
): Promise<string> {
  const { ":id": one } = scopedClient(connection, action.project_id).api.actions;
  const detailOf = (id: string) => unwrap(one.$get({ param: { id } }));
  const [{ changes }, undone] = await Promise.all([
    detailOf(action.id),
    listed.get(action.rollback_of!) ?? detailOf(action.rollback_of!),
  ]);
  const files = changes.length > 0 ? count(changes.length, "file") : "folders";
  return `${files} of ${summarize(undone)}`;
}
