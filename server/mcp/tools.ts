import { z } from "zod";
import { type GateTool, WaitInput } from "../actions/schema.ts";
import {
  DeleteFileInput,
  EditFileInput,
  MoveFileInput,
  ReadFileInput,
  RollbackToolInput,
  RunCommandInput,
  WriteFileInput,
} from "../actions/inputs/schema.ts";
import { PolicyTestInput } from "../policy/schema.ts";
import {
  awaitAction,
  getAction,
  policyCheck,
  projectInfo,
  scenarioRun,
  submit,
  type ToolContext,
} from "./tool_calls.ts";
import { ActionResult, PolicyCheckResult, ProjectInfo } from "./results.ts";
import { ScenarioRunAnswer, ScenarioRunInput } from "./scenario_run.ts";
import type { CallToolResult, Tool } from "./sdk.ts";
import type { ToolCall } from "./tool_calls.ts";

/** One tool of the gate: what the agent is told of it, and what a call does. */
export interface GateMcpTool {
  name: string;
  title: string;
  description: string;
  annotations: NonNullable<Tool["annotations"]>;
  input: z.ZodObject;
  output: z.ZodObject;
  run: (args: never, context: ToolContext, call: ToolCall) => Promise<CallToolResult>;
}

const project = z.string().min(1).max(4096).optional()
  .describe("id or folder of the project; found by itself unless the gate asks for it");
const wait_ms = WaitInput.shape.timeout_ms
  .describe("how long to wait for a person's decision, 45000 unless said");

const HELD = "If a person must decide first, the call waits, then answers status `pending` with " +
  "an action_id: call await_action with it.";

const WRITES = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };
const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/** Every tool; adding one is adding a row. */
export const TOOLS: readonly GateMcpTool[] = [
  submitting("write_file", WriteFileInput, {
    title: "Write a file",
    description: `Writes a whole file, new or not; it can be rolled back. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: true },
  }),
  submitting("edit_file", EditFileInput, {
    title: "Edit a file",
    description: `Replaces pieces of a text file; each old_text must occur exactly once. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false },
  }),
  submitting("delete_file", DeleteFileInput, {
    title: "Delete a file",
    description: `Deletes one file; it can be rolled back. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: true },
  }),
  submitting("move_file", MoveFileInput, {
    title: "Move a file",
    description: `Moves or renames one file; it can be rolled back. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false },
  }),
  submitting("read_file", ReadFileInput, {
    title: "Read a file",
    description: `Reads a file. ${HELD}`,
    annotations: READS,
  }),
  submitting("run_command", RunCommandInput, {
    title: "Run a command",
    description: "Runs one command line in bash and answers exit_code and output (cut in the " +
      `middle if long). There is no input and no terminal. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false, openWorldHint: true },
  }),
  {
    name: "scenario_run",
    title: "Test a service with adversarial scenarios",
    description: "Sends adversarial requests to a service that runs on this machine and answers " +
      "what failed, and how to repeat it. Scenarios come from files or from an OpenAPI " +
      `document. It may change the service's data. ${HELD}`,
    annotations: { ...WRITES, idempotentHint: false, openWorldHint: true },
    input: ScenarioRunInput.extend({ project, wait_ms }),
    output: ActionResult.extend(ScenarioRunAnswer),
    run: scenarioRun,
  },
  {
    name: "await_action",
    title: "Wait for a held action",
    description: "Waits for the decision on an action that was answered as `pending` or still " +
      "running, and answers what came of it; an approved command is run now. Call it again as " +
      "long as the answer is `pending`.",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
    input: z.strictObject({ action_id: RollbackToolInput.shape.action_id, wait_ms }),
    output: ActionResult,
    run: awaitAction,
  },
  {
    name: "get_action",
    title: "Look at an action",
    description: "Answers at once where an action stands and what came of it.",
    annotations: READS,
    input: RollbackToolInput,
    output: ActionResult,
    run: getAction,
  },
  {
    name: "rollback_action",
    title: "Roll an action back",
    description: "Undoes a file change of this gate, unless the file has changed since. " + HELD,
    annotations: { ...WRITES, idempotentHint: true },
    input: RollbackToolInput.extend({ project, wait_ms }),
    output: ActionResult,
    run: (args: z.infer<typeof RollbackToolInput>, context, call) =>
      submit("rollback", args, context, call),
  },
  {
    name: "policy_check",
    title: "Ask what policy says",
    description: "Tells whether a path or command would be allowed, held or blocked, and by " +
      "which rule. Nothing is done and nobody is asked. `action` is write, read, delete or " +
      "command.",
    annotations: READS,
    input: PolicyTestInput.omit({ session_id: true }).extend({ project }),
    output: PolicyCheckResult,
    run: policyCheck,
  },
  {
    name: "project_info",
    title: "Which project this is",
    description: "Tells in which project and folder the gate's tools work here.",
    annotations: READS,
    input: z.strictObject({ project }),
    output: ProjectInfo,
    run: projectInfo,
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

/** Plain draft-7 without a dialect named, which every client's validator takes. */
function toJsonSchema(schema: z.ZodObject, io: "input" | "output") {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "draft-7", io });
  return { ...rest, type: "object" as const };
}
