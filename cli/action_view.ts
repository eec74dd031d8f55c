import type { Action, ActionDetail } from "../server/actions/schema.ts";
import { contentParts, diffParts, type Part } from "./action_diff.ts";
import { conflictMark, conflictParts } from "./action_conflicts.ts";
import type { Io } from "./io.ts";
import { ago, paint, table } from "./output.ts";
import { visibleLine, visibleText } from "./visible.ts";

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
  // A program that reads this gets it whole.
  const width = Math.max(30, (io.stdout.columns ?? Infinity) - 90);
  return table(actions.map((action) => [
    action.id,
    ago(action.created_at, now).padStart(4),
    standing(action),
    visibleLine(action.agent).slice(0, 16),
    visibleLine(action.tool).slice(0, 20),
    shorten(said.get(action.id) ?? summarize(action), width) + conflictMark(action),
  ]));
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
    ["command", action.command],
    ["in", action.cwd],
    ["undoes", action.rollback_of],
    ["replays", action.replay_of],
    ["decision", `${action.decision.effect}: ${action.decision.reason}`],
    ["rule", rule && `${rule.pattern}  (${rule.source} ${rule.list})`],
    ["instead", action.decision.alternative],
    ["risk", `${action.risk.level} ${action.risk.score}`],
    ...action.risk.factors.map((f): [string, string] => ["", `${f.name}: ${f.why}`]),
    ["undoable", undoable(action)],
    ["expires", action.status === "pending" ? action.expires_at : null],
    ["decided by", action.decided_by],
    ["decided", action.decided_at && when(action.decided_at, now)],
    ["reason", action.reason],
    ["exit code", action.exit_code === null ? null : String(action.exit_code)],
    ["error", action.error],
    ["digest", action.digest],
  ];
  const rows = facts.filter(([, value]) => value !== null)
    .map(([name, value]) => [paint(io, "dim", name.padEnd(10)), visibleText(value!)]);
  return [rows.map((row) => row.join("  ")).join("\n"), ...sections(io, action)].join("\n\n");
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

function shorten(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
