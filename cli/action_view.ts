import type { Action, ActionDetail } from "../server/actions/schema.ts";
import type { Io } from "./io.ts";
import { ago, paint, table } from "./output.ts";
import { visibleLine, visibleText } from "./visible.ts";

/** What an action does, on one line that is safe to print. */
export function summarize(action: Pick<Action, "tool" | "path" | "command">): string {
  return visibleLine(action.command ?? action.path ?? action.tool);
}

/** Actions as a table: id, age, status, agent, tool and what it does. */
export function actionTable(io: Io, actions: Action[], now: number): string {
  // A program that reads this gets it whole.
  const width = Math.max(30, (io.stdout.columns ?? Infinity) - 90);
  return table(actions.map((action) => [
    action.id,
    ago(action.created_at, now).padStart(4),
    standing(action),
    visibleLine(action.agent).slice(0, 16),
    visibleLine(action.tool).slice(0, 20),
    shorten(summarize(action), width),
  ]));
}

/** Where an action stands, in a word: decided, and what came of it. */
export function standing(action: Pick<Action, "status" | "execution">): string {
  if (action.status !== "approved") return action.status;
  return action.execution === "none" ? "approved" : `approved, ${action.execution}`;
}

/** Everything a person needs to decide on an action. */
export function actionCard(io: Io, action: ActionDetail): string {
  const rule = action.decision.rule;
  const facts: [string, string | null][] = [
    ["id", action.id],
    ["status", standing(action)],
    ["project", `${action.project_id}  ${action.root}`],
    ["agent", action.agent],
    ["tool", action.tool],
    ["path", action.path],
    ["command", action.command],
    ["in", action.cwd],
    ["decision", `${action.decision.effect}: ${action.decision.reason}`],
    ["rule", rule && `${rule.pattern}  (${rule.source} ${rule.list})`],
    ["instead", action.decision.alternative],
    ["risk", `${action.risk.level} ${action.risk.score}`],
    ...action.risk.factors.map((f): [string, string] => ["", `${f.name}: ${f.why}`]),
    ["undoable", action.reversible ? "yes" : "no"],
    ["decided by", action.decided_by],
    ["reason", action.reason],
    ["exit code", action.exit_code === null ? null : String(action.exit_code)],
    ["error", action.error],
    ["digest", action.digest],
  ];
  const rows = facts.filter(([, value]) => value !== null)
    .map(([name, value]) => [paint(io, "dim", name.padEnd(10)), visibleText(value!)]);
  return [rows.map((row) => row.join("  ")).join("\n"), ...parts(io, action)].join("\n\n");
}

function parts(io: Io, action: ActionDetail): string[] {
  const texts: [string, string | null | undefined][] = [
    ["the agent had asked for", action.proposed?.command ?? action.proposed?.content],
    ["before", action.before?.text],
    ["after", action.after?.text],
    ["output", action.output?.text],
    ["would run", action.analysis?.commands.map((argv) => argv.join(" ")).join("\n")],
    ["would write", action.analysis?.writes.join("\n")],
    ["would delete", action.analysis?.deletes.join("\n")],
    ["cannot be told", action.analysis?.unresolved.join("\n")],
  ];
  return texts.filter(([, text]) => text).map(([title, text]) =>
    `${paint(io, "bold", `── ${title} `.padEnd(40, "─"))}\n${visibleText(text!)}`
  );
}

function shorten(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
