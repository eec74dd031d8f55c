import { z } from "zod";
import {
  DeleteFileInput,
  EditFileInput,
  MoveFileInput,
  ReadFileInput,
  RollbackToolInput,
  RunCommandInput,
  SubmitPlanInput,
  WriteFileInput,
} from "../actions/submit/schema.ts";
import { type GateTool, WaitInput } from "../actions/schema.ts";
import { ProblemError } from "../client.ts";
import type { OwnTool } from "../hooks/hooks.ts";
import { Effect, PolicyTestInput } from "../policy/schema.ts";
import type { DaemonLink } from "./daemon_link.ts";
import type { Call, Holding } from "./holding.ts";
import type { Place, ProjectSessions } from "./project_sessions.ts";
import { ActionResult, answer, AnyRule, toResult, toUndetected } from "./results.ts";
import {
  scenarioCommand,
  ScenarioRunAnswer,
  ScenarioRunInput,
  withFigures,
} from "./scenario_run.ts";
import type { CallToolResult, Tool } from "./sdk.ts";

/** One MCP tool: its description for the agent, and the function that a call runs. */
export interface GateMcpTool {
  name: OwnTool;
  title: string;
  description: string;
  annotations: NonNullable<Tool["annotations"]>;
  input: z.ZodObject;
  output: z.ZodObject;
  run: (args: never, context: ToolContext, call: ToolCall) => Promise<CallToolResult>;
}

/** The services that the tools of one connection use. */
export interface ToolContext {
  link: DaemonLink;
  holding: Holding;
  sessions: ProjectSessions;
  now: () => number;
  /** The words that start this program. */
  program: () => readonly string[];
  /** PATH of the commands that run here. */
  search_path: string | undefined;
}

/** One call with the metadata of its host. */
export interface ToolCall extends Call {
  meta?: Record<string, unknown>;
}

const project = z.string().min(1).max(4096).optional()
  .describe("id or folder of the project; pass it only if the gate asks for it");
const wait_ms = WaitInput.shape.timeout_ms
  .describe("how long to wait for a person's decision; the default is 45000");

const HELD =
  "If a person must decide first, the call waits, then returns status `pending` and an " +
  "action_id: call await_action with it.";

const WRITES = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };
const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/** Every tool. A new one is a row here and a name in `server/hooks/hooks.ts`. */
export const TOOLS: readonly GateMcpTool[] = [
  submitting("write_file", WriteFileInput, {
    title: "Write a file",
    description: `Creates or replaces a whole file. It can be rolled back. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: true },
  }),
  submitting("edit_file", EditFileInput, {
    title: "Edit a file",
    description: `Replaces parts of a text file. Each old_text must occur exactly once. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false },
  }),
  submitting("delete_file", DeleteFileInput, {
    title: "Delete a file",
    description: `Deletes one file. It can be rolled back. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: true },
  }),
  submitting("move_file", MoveFileInput, {
    title: "Move a file",
    description: `Moves or renames one file. It can be rolled back. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false },
  }),
  submitting("read_file", ReadFileInput, {
    title: "Read a file",
    description: `Reads a file. ${HELD}`,
    annotations: READS,
  }),
  submitting("run_command", RunCommandInput, {
    title: "Run a command",
    description: "Runs one command line in bash and returns exit_code and output. Long output is " +
      "cut in the middle. The command has no input and no terminal. It may run in a sandbox " +
      "without secrets and network; if it fails there, send it again with outside_sandbox and " +
      `a reason. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false, openWorldHint: true },
  }),
  {
    name: "scenario_run",
    title: "Test a service with adversarial scenarios",
    description: "Sends adversarial requests to a service on this machine and returns the " +
      "failures and how to repeat them. Scenarios come from files or from an OpenAPI document. " +
      `The requests may change the service's data. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false, openWorldHint: true },
    input: ScenarioRunInput.extend({ project, wait_ms }),
    output: ActionResult.extend(ScenarioRunAnswer),
    run: runScenarios,
  },
  submitting("submit_plan", SubmitPlanInput, {
    title: "Submit a plan",
    description:
      "Asks a person once about several actions; does none of them. After the approval " +
      "call each tool with exactly the arguments of its step, in this order. No step may need " +
      `what an earlier one writes. ${HELD}`,
    annotations: { ...WRITES, destructiveHint: false, idempotentHint: true },
  }),
  {
    name: "await_action",
    title: "Wait for a held action",
    description: "Waits for an action that is `pending` or still running, and returns its " +
      "outcome. An approved command runs during this call. Call it again while the status is " +
      "`pending`.",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    input: z.strictObject({ action_id: RollbackToolInput.shape.action_id, wait_ms }),
    output: ActionResult,
    run: awaitAction,
  },
  {
    name: "get_action",
    title: "Look at an action",
    description: "Returns the status and the outcome of an action at once.",
    annotations: READS,
    input: RollbackToolInput,
    output: ActionResult,
    run: getAction,
  },
  {
    name: "rollback_action",
    title: "Roll an action back",
    description: "Rolls back a file change made through gate, unless the file has changed since. " +
      HELD,
    annotations: { ...WRITES, idempotentHint: true },
    input: RollbackToolInput.extend({ project, wait_ms }),
    output: ActionResult,
    run: (args: z.infer<typeof RollbackToolInput>, context, call) =>
      submit("rollback", args, context, call),
  },
  {
    name: "policy_check",
    title: "Check what the policy decides",
    description: "Returns whether the policy would allow, hold or block a path or a command, and " +
      "which rule decides. It does nothing else and asks nobody. `action` is write, read, " +
      "delete or command.",
    annotations: READS,
    input: PolicyTestInput.omit({ session_id: true }).extend({ project }),
    output: z.looseObject({
      message: z.string(),
      effect: Effect.optional(),
      rule: AnyRule.nullable().optional(),
      reason: z.string().optional(),
      alternative: z.string().nullable().optional(),
    }),
    run: checkPolicy,
  },
  {
    name: "project_info",
    title: "Show the current project",
    description: "Returns the project and the folder in which the gate's tools work.",
    annotations: READS,
    input: z.strictObject({ project }),
    output: z.looseObject({
      message: z.string(),
      project: z.string().optional(),
      name: z.string().optional(),
      root: z.string().optional().describe("relative paths start here"),
      detected_by: z.string().optional().describe("how the gate found the project"),
      session_id: z.string().optional(),
    }),
    run: showProject,
  },
];

type Texts = Pick<GateMcpTool, "title" | "description" | "annotations">;

/** A tool that submits its input as an action of the same name. */
function submitting(name: GateTool, input: z.ZodObject, texts: Texts): GateMcpTool {
  return {
    name,
    ...texts,
    input: input.extend({ project, wait_ms }),
    output: ActionResult,
    run: (args: Record<string, unknown>, context, call) => submit(name, args, context, call),
  };
}

const REQUEST_MS = 10_000;

async function submit(
  tool: GateTool,
  args: Record<string, unknown>,
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  const { project, wait_ms, ...input } = args as { project?: string; wait_ms?: number };
  return await inPlace(project, context, call, async (place) => {
    const { project_id, session_id, session } = place;
    const submitted = await context.holding.submit(
      {
        tool,
        input,
        session_id,
        ...(tool === "run_command" || tool === "submit_plan") &&
          { search_path: context.search_path },
      },
      { project: project_id, session },
      { ...call, wait_ms },
    );
    context.sessions.note(submitted.id, session);
    return toResult(submitted);
  });
}

/** Submits the scenario tool as a command, so that policy decides on it and the ledger keeps it. */
async function runScenarios(
  { project, wait_ms, ...input }: ScenarioRunInput & { project?: string; wait_ms?: number },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  const command = scenarioCommand(context.program(), input);
  return withFigures(await submit("run_command", { command, project, wait_ms }, context, call));
}

async function awaitAction(
  { action_id, wait_ms }: { action_id: string; wait_ms?: number },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return await asItsSession(action_id, context, call, async (session) => {
    const action = await context.holding.resume(action_id, { ...call, wait_ms, session });
    return withFigures(toResult(action));
  });
}

async function getAction(
  { action_id }: { action_id: string },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return await asItsSession(
    action_id,
    context,
    call,
    async (session) =>
      toResult(await context.holding.look(action_id, { ...call, session }), { whole: true }),
  );
}

/**
 * Uses an action with the secret of its session: one that this connection opened, else a new one,
 * which may succeed the session of a process that has died.
 */
async function asItsSession(
  action_id: string,
  context: ToolContext,
  call: ToolCall,
  use: (session: string) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  const { sessions } = context;
  const tried = await sessions.secretsFor(action_id);
  for (const secret of tried) {
    try {
      const result = await use(secret);
      sessions.note(action_id, secret);
      return result;
    } catch (error) {
      if (!isUnknown(error) || tried.length > 0 && secret === tried.at(-1)) throw error;
    }
  }
  const place = await sessions.find(undefined, call.meta);
  if ("reason" in place) return toUndetected(place.reason, place.projects);
  const result = await use(place.session);
  sessions.note(action_id, place.session);
  return result;
}

async function checkPolicy(
  { project, ...json }: PolicyTestInput & { project?: string },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return await inPlace(project, context, call, async ({ project_id, session_id, session }) => {
    const until = context.now() + REQUEST_MS;
    const decision = await context.link.call(
      (client) => client.api.policy.test.$post({ json: { ...json, session_id } }),
      { project: project_id, session, until, signal: call.signal },
    );
    const verb = { allow: "would be allowed", ask: "would be held", deny: "would be blocked" };
    const message = `It ${verb[decision.effect]}: ${decision.reason}`;
    return answer({ message, ...decision });
  });
}

async function showProject(
  { project }: { project?: string },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return await inPlace(project, context, call, async (place) => {
    const { items } = await context.link.call(
      (client) => client.api.hub.projects.$get(),
      { until: context.now() + REQUEST_MS, signal: call.signal },
    );
    return answer({
      message: `The gate's tools work in ${place.root}; relative paths start there.`,
      project: place.project_id,
      name: items.find(({ id }) => id === place.project_id)?.name ?? place.project_id,
      root: place.root,
      detected_by: place.rule,
      session_id: place.session_id,
    });
  });
}

/** Finds the project of a call. When the daemon no longer knows its session, it opens a new one. */
async function inPlace(
  project: string | undefined,
  { sessions }: ToolContext,
  { meta }: ToolCall,
  use: (place: Place) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  for (let isRetry = false;; isRetry = true) {
    const place = await sessions.find(project, meta);
    if ("reason" in place) return toUndetected(place.reason, place.projects);
    try {
      return await use(place);
    } catch (error) {
      // A wrong action id is no reason to leave the session.
      if (isRetry || !isUnknown(error) || error.problem.unknown === "action") throw error;
      sessions.forget(place);
    }
  }
}

function isUnknown(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.problem.code === "not_found";
}

let listed: ReturnType<typeof toListing>[] | null = null;

/** The tools as a client sees them. */
export function listTools() {
  return listed ??= TOOLS.map(toListing);
}

function toListing({ name, title, description, annotations, input, output }: GateMcpTool) {
  return {
    name,
    title,
    description,
    annotations: { title, ...annotations },
    inputSchema: toJsonSchema(input, "input"),
    outputSchema: toJsonSchema(output, "output"),
  };
}

/** JSON Schema draft 7 without `$schema`, which every client's validator accepts. */
function toJsonSchema(schema: z.ZodObject, io: "input" | "output") {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-7", io });
  return { ...rest, type: "object" as const };
}
