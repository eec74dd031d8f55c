import type { Action } from "../../server/actions/schema.ts";
import type { Io } from "../io.ts";
import { ago, columnWidths, paint, table } from "../terminal/output.ts";
import { fitVisible, visibleLine } from "../terminal/visible.ts";
import { displayWidth } from "../terminal/width.ts";
import { conflictMark } from "./diff.ts";
import { statusOf, submitterOf, summarize } from "./view.ts";

interface TableOptions {
  now: number;
  /** Better summaries for some of the actions, by their ids. */
  described: ReadonlyMap<string, string>;
  /** All of them are held: their risk stands in place of their status. */
  held?: boolean;
  /** The width of a row; that of the terminal without it. */
  columns?: number;
}

/**
 * Actions as a table: id, age, status or risk, project, who asked, machine if another one shares the
 * ledger, tool and summary. On a terminal a row fills one line: ids are as short as tells them apart,
 * and a narrow one has no column for the tool.
 */
export function actionTable(
  io: Io,
  actions: (Action & { machine?: string | null })[],
  { now, described, held = false, columns = io.stdout.columns ?? Infinity }: TableOptions,
): string {
  const isNarrow = columns < WIDE;
  const length = columns === Infinity ? FULL_ID : sharedLength(actions.map(({ id }) => id));
  const isOneProject = new Set(actions.map(({ project_id }) => project_id)).size === 1;
  const isShared = actions.some(({ machine }) => machine);
  const heads = actions.map((action) => [
    action.id.slice(0, length),
    ago(action.created_at, now).padStart(4),
    held ? paintRisk(io, action) : paintStatus(io, action),
    ...held || !isOneProject
      ? [fitVisible(visibleLine(action.project_id), isNarrow ? 12 : 20)]
      : [],
    fitVisible(visibleLine(submitterOf(action)), isNarrow ? 12 : 16),
    ...isShared ? [action.machine ? fitVisible(`on ${visibleLine(action.machine)}`, 20) : ""] : [],
    ...isNarrow ? [] : [fitVisible(visibleLine(action.tool), 20)],
  ]);
  const left = columns - columnWidths(heads).reduce((sum, width) => sum + width + 2, 0);
  return table(actions.map((action, i) => {
    const mark = conflictMark(action);
    const summary = described.get(action.id) ?? summarize(action);
    const isToolSaid = !isNarrow || described.has(action.id) || action.command !== null;
    const what = isToolSaid ? summary : `${visibleLine(action.tool)} ${summary}`;
    return [
      ...heads[i]!,
      fitSummary(what, Math.max(MIN_SUMMARY, left - displayWidth(mark))) + mark,
    ];
  }));
}

/** A narrower terminal has no column for the tool. */
const WIDE = 100;
const FULL_ID = 36;
/** The part of an id that holds its time in milliseconds. */
const SHORT_ID = 13;
/** A summary keeps this width even if the line then wraps. */
const MIN_SUMMARY = 16;

const SHORTENED = /^((?:\w+ )?)([\x21-\x5a\x5c-\x7e]+)$/;

/** A summary cut to the width. A path loses its middle, because its end names the file. */
function fitSummary(summary: string, width: number): string {
  const [, tool = "", path] = SHORTENED.exec(summary) ?? [];
  const room = width - tool.length - 1;
  if (summary.length <= width || !path?.includes("/") || room < MIN_SUMMARY / 2) {
    return fitVisible(summary, width);
  }
  const end = Math.ceil(room * 2 / 3);
  return `${tool}${path.slice(0, room - end)}…${path.slice(-end)}`;
}

/** The number of digits that tell these ids apart. */
function sharedLength(ids: string[]): number {
  for (let length = SHORT_ID; length < FULL_ID; length++) {
    if (new Set(ids.map((id) => id.slice(0, length))).size === new Set(ids).size) return length;
  }
  return FULL_ID;
}

function paintStatus(io: Io, action: Action): string {
  const word = statusOf(action);
  if (action.status === "pending") return paint(io, "yellow", word);
  const isBad = /^(?:blocked|rejected)$/.test(action.status) || action.execution === "failed";
  return isBad ? paint(io, "red", word) : word;
}

function paintRisk(io: Io, { risk: { level } }: Action): string {
  if (level === "critical" || level === "high") return paint(io, "red", level);
  return level === "medium" ? paint(io, "yellow", level) : level;
}
