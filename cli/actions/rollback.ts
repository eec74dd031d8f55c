import { ProblemError } from "../../server/client.ts";
import { paintLine } from "./diff.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { say } from "../terminal/output.ts";

/** More lines of what has changed since are left to the dashboard. */
const MOST_LINES = 120;

/**
 * A refused rollback in the words of the command line: the API names a field of its body, and holds
 * what has changed since, which is shown first.
 * @param command what was typed, without its options
 */
export function asTyped(io: Io, error: unknown, command: string): unknown {
  if (!(error instanceof ProblemError)) return error;
  const { detail, diff, conflicts } = error.problem;
  const ways = /on_conflict ("\w+"(?: or "\w+")?)/.exec(detail)?.[1]?.replaceAll('"', "");
  if (ways === undefined) return error;
  showDiffs(io, [diff, ...Array.isArray(conflicts) ? conflicts.map(({ diff }) => diff) : []]);
  const typed = detail.replace(/on_conflict "\w+"(?: or "\w+")?/, `--on-conflict ${ways}`);
  return new CliError(typed, {
    next: `${command} --dry-run --on-conflict ${/^\w+/.exec(ways)![0]}`,
  });
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
