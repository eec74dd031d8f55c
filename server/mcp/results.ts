import { z } from "zod";
import { Action, ActionStatus, type Conflict, Execution } from "../actions/schema.ts";
import { toolOf } from "../actions/tools.ts";
import { ProblemError } from "../client.ts";
import { Effect } from "../policy/schema.ts";
import { HubProject } from "../projects/schema.ts";
import { GateError } from "../errors.ts";
import { wordsOf } from "../issue.ts";
import { fewerMasked } from "../shown/masked_names.ts";
import { tellOwnTmp } from "../shown/own_tmp.ts";
import { LostError } from "./daemon_link.ts";
import type { CallToolResult } from "./sdk.ts";

/** An action as the daemon returns it: the record, and the tool's result after the execution. */
export type Submitted = Action & { result: Record<string, unknown> | null };

// Loose objects: clients validate results against these, and a newer daemon may add fields.
const Problem = z.looseObject({ code: z.string(), detail: z.string() });
export const AnyRule = z.looseObject({ pattern: z.string(), list: z.string(), source: z.string() });
const AnyDecision = z.looseObject({ effect: Effect, reason: z.string() });

/** The structured content of every tool that submits an action; the fields depend on `status`. */
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
  edited: z.boolean().optional().describe("true if a reviewer changed it before approving"),
  conflicts: z.array(z.looseObject({ kind: z.string(), action_id: z.string(), path: z.string() }))
    .optional().describe("changes of the same files by other sessions"),
  rule: AnyRule.nullable().optional().describe("when refused: the rule that decided"),
  reason: z.string().nullable().optional().describe("when refused: the reason"),
  alternative: z.string().nullable().optional().describe("when refused: what to do instead"),
  next_tool: z.string().optional().describe("while it is not finished: the tool to call next"),
  retry_after_s: z.number().optional(),
  content: z.string().optional().describe("the content that read_file returns"),
  final_content: z.string().nullable().optional().describe(
    "after a reviewer's edit: the written content",
  ),
  final_command: z.string().nullable().optional().describe(
    "after a reviewer's edit: the executed command",
  ),
  diff: z.string().nullable().optional().describe(
    "after a reviewer's edit: the change from your content to the final one",
  ),
  exit_code: z.number().int().nullable().optional(),
  output: z.string().optional(),
  truncated: z.boolean().optional().describe("true if the output was cut in the middle"),
  output_dropped: z.boolean().optional()
    .describe("true if the output is no longer kept, because of its age"),
  restored: z.array(z.looseObject({ path: z.string(), change: z.string() })).optional()
    .describe("guarded files that the command changed without permission, and gate restored"),
  walls: z.array(z.string()).optional()
    .describe("walls of the sandbox that the command met, as far as its output tells"),
  asked_hosts: z.array(z.looseObject({ host: z.string(), port: z.number(), answer: z.string() }))
    .optional().describe("hosts that the command asked for in the sandbox, and the answer"),
  held_changes: z.looseObject({ action_id: z.string().nullable(), files: z.number() }).optional()
    .describe("the changes of a command that wait for a person; the project does not have them"),
  not_taken: z.array(z.string()).optional()
    .describe("after a reviewer's edit: files whose changes were not taken over"),
  error: z.union([z.string(), Problem]).nullable().optional(),
  projects: z.array(z.looseObject({ id: z.string(), name: z.string() })).optional(),
});

const REFUSED = new Set<ActionStatus>(["blocked", "rejected", "expired", "cancelled"]);

/** Whether the action has reached its final state. */
export function isSettled(action: Action): boolean {
  if (action.status !== "approved") return action.status !== "pending";
  return action.execution !== "none" && action.execution !== "running";
}

/**
 * The tool result for an action.
 * @param options.whole lists all hidden names of a sandbox, which each answer would repeat
 */
export function toResult(submitted: Submitted, { whole = false } = {}): CallToolResult {
  const { result, ...action } = submitted;
  const failed = action.execution === "failed" && action.exit_code === null;
  const refused = REFUSED.has(action.status);
  return answer({
    ...result,
    message: messageOf(action) + conflictMessage(action) + restoredMessage(result) +
      heldChangesMessage(result) + wallsMessage(result) + tmpMessage(action),
    action_id: action.id,
    project: action.project_id,
    tool: action.tool,
    path: action.path,
    command: action.command,
    status: action.status,
    execution: action.execution,
    decision: whole || metWalls(result).length > 0 ? action.decision : briefDecision(action),
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

/** The tool result for a call that failed before it became an action. */
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
  return `Nothing was done because the gate cannot be reached: ${detail}. Ask the user to run ` +
    "`gate daemon start` or `gate doctor`; do not do this without the gate.";
}

/** The tool result when too many calls run at once. */
export function toBusy(most: number): CallToolResult {
  const detail = `${most} calls are running already`;
  const message = `Nothing was done. ${detail}: call again when some of them have ended.`;
  return answer({ message, error: { code: "rate_limited", detail } }, true);
}

/** The tool result for invalid arguments. */
export function toInvalid(error: z.ZodError): CallToolResult {
  const detail = error.issues.slice(0, 10)
    .map((issue) => {
      const { path, message } = wordsOf(issue);
      return `${path.join(".") || "arguments"}: ${message}`;
    }).join("; ");
  return answer({
    message: `Nothing was done because the arguments are invalid: ${detail}`,
    error: { code: "invalid", detail },
  }, true);
}

/** The tool result when no project was found: it lists the projects and how to register one. */
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

/** A tool result with the same facts as structure and as text: some hosts show only one of them. */
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
      return "Held: a person has not decided yet, and nothing was done so far. Call await_action with " +
        "this action_id to wait for the decision. Do not repeat the call and do not work around it.";
    case "blocked":
      return `Blocked by policy, nothing was done: ${action.decision.reason}` +
        (action.decision.alternative ? `. Instead: ${action.decision.alternative}` : "");
    case "rejected":
      return `Rejected by ${action.decided_by ?? "a reviewer"}, nothing was done` +
        (action.reason ? `: ${action.reason}` : "");
    case "expired":
      return "Expired, nothing was done: nobody decided in time. Submit it again if you still need it.";
    case "cancelled":
      return "Withdrawn, nothing was done.";
    case "rolled_back":
      return "Done, and rolled back later.";
    case "approved":
      return approvedMessage(action);
  }
}

const CONFLICTS: Record<Conflict["kind"], string> = {
  both_hold: "holds a change of it too",
  overwrites: "wrote the content that this replaces, and nobody has reviewed it",
  overwritten_by: "has replaced the content of this action, or asks to",
  held_by: "holds a change of it that was made against the earlier content",
  changed_by: "has changed it since",
};

/** Tells the agent that other sessions change the same file. */
function conflictMessage({ conflicts }: Action): string {
  return conflicts.slice(0, 3).map(({ kind, agent, path, action_id }) =>
    ` Conflict at ${JSON.stringify(path)}: another session (${JSON.stringify(agent)}) ${
      CONFLICTS[kind]
    } ` +
    `(action ${action_id}).`
  ).join("");
}

// Made once: to make a schema takes longer than to check with it.
const Restored = z.array(
  z.looseObject({
    path: z.string(),
    change: z.string(),
    restored: z.boolean().optional(),
    walled: z.boolean().optional(),
  }),
);
const HeldChanges = z.object({ note: z.string() });
const Walls = z.array(z.string());

/** Tells the agent that gate undid changes of guarded files, and that the session is blocked. */
function restoredMessage(result: Submitted["result"]): string {
  const restored = Restored.safeParse(result?.restored ?? []).data ?? [];
  const named = (all: typeof restored) =>
    all.slice(0, 5).map(({ path }) => JSON.stringify(path)).join(", ");
  const walled = restored.filter((one) => one.walled && one.restored !== false);
  const left = restored.filter((one) => one.walled && one.restored === false);
  const guarded = restored.filter((one) => !one.walled && one.change !== "rewritten");
  const away = walled.length === 0 ? "" : ` gate moved away what the command created against ` +
    `a rule: ${named(walled)}. Leave such files to a person.`;
  const moved = left.length === 0 ? away : `${away} The command left behind what gate could not ` +
    `look through or move away: ${named(left)}. gate blocked this session: stop, and tell the ` +
    "user what happened.";
  if (guarded.length === 0) return moved;
  return `${moved} The command changed guarded files without permission: ${
    named(guarded)
  }. gate restored them and blocked this session: stop, and tell the user what happened.`;
}

/** Tells the state of changes that a command made to a copy of the project. */
function heldChangesMessage(result: Submitted["result"]): string {
  if (!result?.held_changes) return "";
  const held = HeldChanges.safeParse(result.held_changes).data;
  return held ? ` ${held.note}` : "";
}

/** The decision without the hidden names of its sandbox that the command does not name. */
function briefDecision({ decision, command }: Action): Action["decision"] {
  const { sandbox } = decision;
  if (!sandbox) return decision;
  return { ...decision, sandbox: { ...sandbox, masked: fewerMasked(sandbox.masked, command) } };
}

function metWalls(result: Submitted["result"]): string[] {
  return Walls.safeParse(result?.walls ?? []).data ?? [];
}

/** Tells what the sandbox refused, and how to ask for more. */
function wallsMessage(result: Submitted["result"]): string {
  const walls = metWalls(result);
  if (walls.length === 0) return "";
  return ` It ran in a sandbox, and may have met its walls: ${
    walls.join("; ")
  }. If it needs more, ` +
    "call run_command again with outside_sandbox: true and a reason; a person then decides.";
}

/** Tells that files in `/tmp` are those of the sandbox. */
function tmpMessage({ command, decision: { sandbox }, execution }: Action): string {
  const isRun = execution === "succeeded" || execution === "failed";
  const told = isRun && sandbox ? tellOwnTmp(command ?? "", sandbox.engine) : null;
  return told === null ? "" : ` ${told}.`;
}

const STEPS_ALLOWED =
  "Approved. Nothing was done so far: call the tool of each step now, with exactly " +
  "its arguments and in this order.";

function approvedMessage(action: Action): string {
  switch (action.execution) {
    case "none":
      return "Approved but not executed yet. Call await_action with this action_id.";
    case "running":
      return "Approved and still running. Call await_action with this action_id for the result.";
    case "succeeded":
      if (toolOf(action.tool).leases) return STEPS_ALLOWED;
      return action.edited
        ? "Done, but a reviewer changed it before approving. Continue from the final version."
        : "Done.";
    case "failed":
      return action.exit_code === null
        ? `Approved, but it failed: ${action.error ?? "no reason was recorded"}`
        : `The command ran and exited with ${action.exit_code}.`;
    case "unknown":
      return "It was interrupted, and whether it took effect is not known. Look before you repeat it.";
  }
}
