import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { contentParts, diffParts, type Part } from "./diff.ts";
import { conflictMark, conflictParts } from "./conflicts.ts";
import type { Io } from "../io.ts";
import { ago, columnWidths, paint, table } from "../terminal/output.ts";
import { visibleLine, visibleText } from "../terminal/visible.ts";
import { displayWidth, fit } from "../terminal/width.ts";
import { toolOf } from "../../server/actions/tools.ts";

/** What an action does, on one line that is safe to print. */
export function summarize(
  { tool, path, command, rollback_of }: Pick<Action, "tool" | "path" | "command" | "rollback_of">,
): string {
  const what = rollback_of === null ? tool : `what action ${rollback_of} did`;
  return visibleLine(command ?? path ?? what);
}

/**
 * Actions as a table: id, age, status, agent, tool and what it does.
 * @param said what is known to be done by some of them, by their ids
 */
export function actionTable(
  io: Io,
  actions: Action[],
  { now, said }: { now: number; said: ReadonlyMap<string, string> },
): string {
  const columns = io.stdout.columns ?? Infinity;
  const length = columns === Infinity ? FULL_ID : sharedLength(actions.map(({ id }) => id));
  const heads = actions.map((action) => [
    action.id.slice(0, length),
    ago(action.created_at, now).padStart(4),
    paintStanding(io, action),
    fit(visibleLine(action.agent), 16),
    fit(visibleLine(action.tool), 20),
  ]);
  const left = columns - columnWidths(heads).reduce((sum, width) => sum + width + 2, 0);
  return table(actions.map((action, i) => {
    const mark = conflictMark(action);
    const what = said.get(action.id) ?? summarize(action);
    return [...heads[i]!, fit(what, Math.max(LEAST, left - displayWidth(mark))) + mark];
  }));
}

const FULL_ID = 36;
/** The millisecond that an action was asked in: no other is typed by accident. */
const SHORT_ID = 13;
/** Less than this of what an action does says nothing: the line is rather broken. */
const LEAST = 16;

/** How much of the ids a person needs to type to mean one of them; a program gets them whole. */
function sharedLength(ids: string[]): number {
  for (let length = SHORT_ID; length < FULL_ID; length++) {
    if (new Set(ids.map((id) => id.slice(0, length))).size === new Set(ids).size) return length;
  }
  return FULL_ID;
}

function paintStanding(io: Io, action: Action): string {
  const word = standing(action);
  if (action.status === "pending") return paint(io, "yellow", word);
  const isBad = /^(?:blocked|rejected)$/.test(action.status) || action.execution === "failed";
  return isBad ? paint(io, "red", word) : word;
}

/** Where an action stands, in a word: decided, and what came of it. */
export function standing(action: Pick<Action, "status" | "execution">): string {
  if (action.status !== "approved") return action.status;
  return action.execution === "none" ? "approved" : `approved, ${action.execution}`;
}

/** Everything a person needs to decide on an action, and what came of it. */
export function actionCard(io: Io, action: ActionDetail, now: number): string {
  const rule = action.decision.rule;
  const facts: [string, string | null][] = [
    ["id", action.id],
    ["status", standing(action) + (waitsForAgent(action) ? RUNS_LATER : "")],
    ["project", `${action.project_id}  ${action.root}`],
    ["agent", action.agent],
    ["asked", when(action.created_at, now)],
    ["tool", action.tool],
    ["path", action.path],
    ["to", targetOf(action)],
    ["command", action.command],
    ["in", action.cwd],
    ["undoes", action.rollback_of],
    ["replays", action.replay_of],
    ["decision", `${action.decision.effect}: ${action.decision.reason}`],
    ["rule", rule && `${rule.pattern}  (${rule.source} ${rule.list})`],
    ["instead", action.decision.alternative],
    ["risk", `${action.risk.level} ${action.risk.score}`],
    ...action.risk.factors.map((f): [string, string] => ["", factor(f)]),
    ["undoable", undoable(action)],
    ["expires", action.status === "pending" ? whenDue(action.expires_at, now) : null],
    ["decided by", action.decided_by],
    ["decided", action.decided_at && when(action.decided_at, now)],
    ["reason", action.reason],
    ["exit code", action.exit_code === null ? null : String(action.exit_code)],
    ["error", action.error],
    ["digest", action.digest],
  ];
  const rows = facts.filter(([, value]) => value !== null)
    .map(([name, value]) => [paint(io, "dim", name.padEnd(10)), hanging(visibleText(value!))]);
  return [rows.map((row) => row.join("  ")).join("\n"), ...sections(io, action)].join("\n\n");
}

/** No line of a value can pass for a fact of its own. */
function hanging(text: string): string {
  return text.replaceAll("\n", `\n${" ".repeat(12)}`);
}

function factor({ weight, why, name }: ActionDetail["risk"]["factors"][number]): string {
  return `${weight > 0 ? "+" : ""}${weight}`.padEnd(5) + (why || name);
}

/** Where a moved file goes. */
function targetOf({ tool, path, changes }: ActionDetail): string | null {
  if (toolOf(tool).shows !== "two_paths") return null;
  return changes.find((change) => change.path !== path)?.path ?? null;
}

/** An approved command is run by the agent's own process, once that asks for the answer. */
export function waitsForAgent(
  action: Pick<Action, "status" | "execution" | "command">,
): boolean {
  return action.command !== null && action.status === "approved" && action.execution === "none";
}

const UNDOABLE = { reversible: "yes", partly: "partly", not: "no" } as const;

function undoable({ reversible, reversibility }: ActionDetail): string {
  if (!reversibility) return reversible ? "yes" : "no";
  return `${UNDOABLE[reversibility.level]}: ${reversibility.why}`;
}

const RUNS_LATER = ", not run yet: the agent runs it when it comes for the answer";

function when(at: string, now: number): string {
  return `${at}  (${ago(at, now)} ago)`;
}

function whenDue(at: string | null, now: number): string | null {
  if (at === null) return null;
  // What is left of a time to come is how long ago now is, seen from there.
  return `${at}  (in ${ago(new Date(now).toISOString(), Date.parse(at))})`;
}

function sections(io: Io, action: ActionDetail): string[] {
  return parts(io, action).filter(({ text }) => text).map(({ title, text }) =>
    `${paint(io, "bold", `── ${title} `.padEnd(40, "─"))}\n${text.replace(/\n+$/, "")}`
  );
}

function parts(io: Io, action: ActionDetail): Part[] {
  const { analysis, output } = action;
  const hasRun = action.execution !== "none";
  const list = (title: string, lines: string[] | undefined): Part => ({
    title,
    text: visibleText(lines?.join("\n") ?? ""),
  });
  return [
    ...proposedParts(io, action),
    ...contentParts(io, action),
    ...conflictParts(io, action),
    list("output", output ? [output.text] : []),
    list(hasRun ? "ran" : "would run", analysis?.commands.map((argv) => argv.join(" "))),
    list(hasRun ? "could write" : "would write", analysis?.writes),
    list(hasRun ? "could delete" : "would delete", analysis?.deletes),
    list("cannot be told", analysis?.unresolved),
    list("changed", namesFiles(action) ? action.changes.map(changeLine) : []),
  ];
}

/** The one file of a write is named above; what a host changes is shown file by file. */
function namesFiles({ command, changes, files }: ActionDetail): boolean {
  return command !== null || (changes.length > 1 && files === null);
}

function changeLine({ path, before_sha256, after_sha256 }: ActionDetail["changes"][number]) {
  const sign = before_sha256 === null ? "+" : after_sha256 === null ? "-" : "~";
  return `${sign} ${path}`;
}

function proposedParts(io: Io, { proposed, after }: ActionDetail): Part[] {
  const asked = proposed?.command ?? proposed?.content;
  if (!asked) return [];
  if (proposed?.content && after?.text) {
    return diffParts(io, "what the reviewer changed", proposed.content, after.text);
  }
  return [{ title: "the agent had asked for", text: visibleText(asked) }];
}
