import type { GateTool } from "../actions/schema.ts";
import { ProblemError } from "../client.ts";
import type { PolicyTestInput } from "../policy/schema.ts";
import type { DaemonLink } from "./daemon_link.ts";
import type { Call, Holding } from "./holding.ts";
import type { Place, ProjectSessions } from "./project_sessions.ts";
import { answer, toResult, toUndetected } from "./results.ts";
import { scenarioCommand, type ScenarioRunInput, withFigures } from "./scenario_run.ts";
import type { CallToolResult } from "./sdk.ts";

/** What the tools of one connection work with. */
export interface ToolContext {
  link: DaemonLink;
  holding: Holding;
  sessions: ProjectSessions;
  now: () => number;
  /** The words that start this very program. */
  program: () => readonly string[];
}

/** One call, with what the host sent along. */
export interface ToolCall extends Call {
  meta?: Record<string, unknown>;
}

const ASK_MS = 10_000;

/** Submits an action for the tool and answers what it came to. */
export async function submit(
  tool: GateTool,
  args: Record<string, unknown>,
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  const { project, wait_ms, ...input } = args as { project?: string; wait_ms?: number };
  return await inPlace(project, context, call, async (place) => {
    const submitted = { tool, input, session_id: place.session_id };
    return toResult(
      await context.holding.submit(submitted, place.project_id, { ...call, wait_ms }),
    );
  });
}

/** Waits for an action and answers what it came to. */
export async function awaitAction(
  { action_id, wait_ms }: { action_id: string; wait_ms?: number },
  { holding }: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return withFigures(toResult(await holding.resume(action_id, { ...call, wait_ms })));
}

/** Runs the scenario tool as what it is: a command that policy judges and the ledger keeps. */
export async function scenarioRun(
  { project, wait_ms, ...input }: ScenarioRunInput & { project?: string; wait_ms?: number },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  const command = scenarioCommand(context.program(), input);
  return withFigures(await submit("run_command", { command, project, wait_ms }, context, call));
}

/** Answers how an action stands. */
export async function getAction(
  { action_id }: { action_id: string },
  { holding }: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return toResult(await holding.look(action_id, call));
}

/** Answers what policy would say. */
export async function policyCheck(
  { project, ...json }: PolicyTestInput & { project?: string },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return await inPlace(project, context, call, async ({ project_id, session_id }) => {
    const said = await context.link.call(
      (client) => client.api.policy.test.$post({ json: { ...json, session_id } }),
      { project: project_id, until: context.now() + ASK_MS, signal: call.signal },
    );
    const verb = { allow: "would be allowed", ask: "would be held", deny: "would be blocked" };
    return answer({ message: `It ${verb[said.effect]}: ${said.reason}`, ...said });
  });
}

/** Answers which project the calls of this connection are meant for. */
export async function projectInfo(
  { project }: { project?: string },
  context: ToolContext,
  call: ToolCall,
): Promise<CallToolResult> {
  return await inPlace(project, context, call, async (place) => {
    const { items } = await context.link.call(
      (client) => client.api.hub.projects.$get(),
      { until: context.now() + ASK_MS, signal: call.signal },
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

/** Finds the place of a call; one that the daemon no longer knows is looked for once more. */
async function inPlace(
  project: string | undefined,
  { sessions }: ToolContext,
  { meta }: ToolCall,
  use: (place: Place) => Promise<CallToolResult>,
): Promise<CallToolResult> {
  for (let last = false;; last = true) {
    const place = await sessions.find(project, meta);
    if ("reason" in place) return toUndetected(place.reason, place.projects);
    try {
      return await use(place);
    } catch (error) {
      if (last || !isNotFound(error)) throw error;
      sessions.forget(place);
    }
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.code === "not_found";
}
