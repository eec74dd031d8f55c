import { z } from "zod";
import { Action, ActionStatus, type Conflict, Execution } from "../actions/schema.ts";
import { ProblemError } from "../client.ts";
import { Effect } from "../policy/schema.ts";
import { HubProject } from "../projects/schema.ts";
import { GateError } from "../errors.ts";
import { LostError } from "./daemon_link.ts";
import type { CallToolResult } from "./sdk.ts";
import { toolOf } from "../actions/tools.ts";

/** What the daemon answers of an action: the record, and what the tool returned once it is done. */
export type Submitted = Action & { result: Record<string, unknown> | null };

// Loose all through: a client checks answers against these, and newer daemons may say more.
const Problem = z.looseObject({ code: z.string(), detail: z.string() });
const AnyRule = z.looseObject({ pattern: z.string(), list: z.string(), source: z.string() });
const AnyDecision = z.looseObject({ effect: Effect, reason: z.string() });

/** The structured content of every tool that acts; which keys are there depends on `status`. */
export const ActionResult = z.looseObject({
  message: z.string().describe("what happened and what to do next"),
  action_id: z.string().optional(),
  project: z.string().optional(),
  tool: z.string().optional(),
  path: z.string().nullable().optional(),
  command: z.string().nullable().optional(),
  status: ActionStatus.optional(),
  execution: Execution.optional(),
  decision: AnyDecision.optional(),
  edited: z.boolean().optional().describe("a reviewer changed it before approving"),
  conflicts: z.array(z.looseObject({ kind: z.string(), action_id: z.string(), path: z.string() }))
    .optional().describe("what other sessions do to the same files"),
  rule: AnyRule.nullable().optional().describe("of a refusal: the rule that decided"),
  reason: z.string().nullable().optional().describe("of a refusal: why"),
  alternative: z.string().nullable().optional().describe("of a refusal: what to do instead"),
  next_tool: z.string().optional().describe("while it is not settled: the tool to call next"),
  retry_after_s: z.number().optional(),
  content: z.string().optional().describe("of read_file"),
  final_content: z.string().nullable().optional().describe("after an edit: what was written"),
  final_command: z.string().nullable().optional().describe("after an edit: what was run"),
  diff: z.string().nullable().optional().describe("after an edit: from yours to the final one"),
  exit_code: z.number().int().nullable().optional(),
  output: z.string().optional(),
  truncated: z.boolean().optional().describe("output was cut in the middle to its cap"),
  error: z.union([z.string(), Problem]).nullable().optional(),
  projects: z.array(z.looseObject({ id: z.string(), name: z.string() })).optional(),
});

/** The structured content of `policy_check`. */
export const PolicyCheckResult = z.looseObject({
  message: z.string(),
  effect: Effect.optional(),
  rule: AnyRule.nullable().optional(),
  reason: z.string().optional(),
  alternative: z.string().nullable().optional(),
});

/** The structured content of `project_info`. */
export const ProjectInfo = z.looseObject({
  message: z.string(),
  project: z.string().optional(),
  name: z.string().optional(),
  root: z.string().optional().describe("relative paths start here"),
  detected_by: z.string().optional().describe("what told the gate which project is meant"),
  session_id: z.string().optional(),
});

const REFUSED = new Set<ActionStatus>(["blocked", "rejected", "expired", "cancelled"]);

/** Whether nothing more will come of the action by itself. */
export function isSettled(action: Action): boolean {
  if (action.status !== "approved") return action.status !== "pending";
  return action.execution !== "none" && action.execution !== "running";
}

/** What the agent is told of an action: the very same facts as structure and as text. */
export function toResult(submitted: Submitted): CallToolResult {
  const { result, ...action } = submitted;
  const failed = action.execution === "failed" && action.exit_code === null;
  const refused = REFUSED.has(action.status);
  return answer({
    ...result,
    message: messageOf(action) + conflictMessage(action),
    action_id: action.id,
    project: action.project_id,
    tool: action.tool,
    path: action.path,
    command: action.command,
    status: action.status,
    execution: action.execution,
    decision: action.decision,
    edited: action.edited,
    ...(action.conflicts.length > 0 ? { conflicts: action.conflicts } : {}),
    ...(toolOf(action.tool).shows === "command" && isSettled(action) && !refused
      ? { exit_code: action.exit_code }
      : {}),
    ...(refused ? refusalOf(action) : {}),
    ...(action.error === null ? {} : { error: action.error }),
    ...(isSettled(action) ? {} : { next_tool: "await_action", retry_after_s: 5 }),
  }, refused || failed || action.execution === "unknown");
}

/** The answer to a call that did not become an action, as far as is known. */
export function toProblem(error: unknown): CallToolResult {
  const problem = error instanceof ProblemError
    ? error.problem
    : error instanceof GateError
    ? error.toProblem()
    : { code: "unavailable", detail: error instanceof Error ? error.message : String(error) };
  return answer({ message: problemMessage(error, problem), error: { ...problem } }, true);
}

function problemMessage(error: unknown, { code, detail }: { code: string; detail: string }) {
  if (error instanceof LostError || code === "internal") {
    return `${detail}. Whether anything was done is not known: look before you repeat it.`;
  }
  if (code !== "unavailable") return `Nothing was done: ${detail}`;
  return `Nothing was done, the gate cannot be reached: ${detail}. Ask the user to run ` +
    "`gate daemon start` or `gate doctor`; do not do this without the gate.";
}

/** The answer to a call too many. */
export function toBusy(most: number): CallToolResult {
  const detail = `There are ${most} calls at once already`;
  const message = `Nothing was done. ${detail}: call again when some of them have been answered.`;
  return answer({ message, error: { code: "rate_limited", detail } }, true);
}

/** The answer to arguments that the tool does not take. */
export function toInvalid(error: z.ZodError): CallToolResult {
  const detail = error.issues.slice(0, 10)
    .map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`).join("; ");
  return answer({
    message: `Nothing was done, the arguments are wrong: ${detail}`,
    error: { code: "invalid", detail },
  }, true);
}

/** The answer where no project could be found: which there are, and how to make one. */
export function toUndetected(reason: string, projects: HubProject[]): CallToolResult {
  const known = projects.slice(0, 100).map(({ id, name, roots }) => ({ id, name, roots }));
  const message = `${reason}. ` +
    (known.length > 0
      ? "Pass the argument `project` with one of the ids in `projects`, or ask the user to run " +
        "`gate init` in the folder to work in."
      : "No project is registered yet: ask the user to run `gate init` in the folder to work in.");
  return answer(
    { message, error: { code: "project_required", detail: reason }, projects: known },
    true,
  );
}

/** The structure as such and as text: some hosts show their model only the one or the other. */
export function answer(structured: Record<string, unknown>, isError = false): CallToolResult {
  return {
    structuredContent: structured,
    content: [{ type: "text", text: JSON.stringify(structured) }],
    ...(isError ? { isError } : {}),
  };
}

function refusalOf(action: Action) {
  const byPolicy = action.status === "blocked";
  return {
    rule: action.decision.rule,
    reason: byPolicy ? action.decision.reason : action.reason ?? action.decision.reason,
    alternative: action.decision.alternative,
  };
}

function messageOf(action: Action): string {
  switch (action.status) {
    case "pending":
      return "Held: a person has not decided yet. Nothing was done so far. Call await_action with " +
        "this action_id to go on waiting; do not repeat the call and do not look for a way round.";
    case "blocked":
      return `Blocked by policy, nothing was done: ${action.decision.reason}` +
        (action.decision.alternative ? `. Instead: ${action.decision.alternative}` : "");
    case "rejected":
      return `Rejected by ${action.decided_by ?? "a reviewer"}, nothing was done` +
        (action.reason ? `: ${action.reason}` : "");
    case "expired":
      return "Expired, nothing was done: nobody decided in time. Submit it again if it still matters.";
    case "cancelled":
      return "Withdrawn, nothing was done.";
    case "rolled_back":
      return "Done, and rolled back since.";
    case "approved":
      return approvedMessage(action);
  }
}

const CONFLICTS: Record<Conflict["kind"], string> = {
  both_hold: "holds a change of it too",
  overwrites: "had written what this replaces, and nobody has looked at that",
  overwritten_by: "has replaced what this wrote, or asks to",
  held_by: "holds a change of it, asked on what was there before",
  changed_by: "has changed it since",
};

/** What an agent cannot know: that it is not alone at a file. */
function conflictMessage({ conflicts }: Action): string {
  return conflicts.slice(0, 3).map(({ kind, agent, path, action_id }) =>
    ` Mind ${JSON.stringify(path)}: another session (${JSON.stringify(agent)}) ${
      CONFLICTS[kind]
    } ` +
    `(action ${action_id}).`
  ).join("");
}

function approvedMessage(action: Action): string {
  switch (action.execution) {
    case "none":
      return "Approved and not carried out yet. Call await_action with this action_id.";
    case "running":
      return "Approved and still running. Call await_action with this action_id for the result.";
    case "succeeded":
      return action.edited
        ? "Done, but not as you asked: a reviewer changed it before approving. Go on from what was done."
        : "Done.";
    case "failed":
      return action.exit_code === null
        ? `Approved, but it failed: ${action.error ?? "no reason was recorded"}`
        : `The command ran and exited with ${action.exit_code}.`;
    case "unknown":
      return "It was interrupted, and whether it took effect is not known. Look before you repeat it.";
  }
}
