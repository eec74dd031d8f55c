import type { Config } from "../../config/config.ts";
import {
  evaluate,
  evaluateLayer,
  type Evaluation,
  type EvaluationOptions,
  layersOf,
  nothingFound,
  type PolicyLayer,
  strictestOf,
  type Surroundings,
} from "../../policy/evaluate.ts";
import { contain, withFolders } from "../../policy/contain.ts";
import { DEEP } from "../../policy/holes.ts";
import type { NamedPaths } from "../../policy/named_paths.ts";
import type { RiskSettings } from "../../policy/risk_weights.ts";
import type { Decision, PolicyLimits, Requester } from "../../policy/schema.ts";
import type { ActionServices, ActionSession, Neighbour } from "../context.ts";
import { type ParsedInput, type Plan, wantsOutside } from "../plan.ts";
import type { ActionRow } from "../store.ts";
import { settled } from "../../policy/settled.ts";
import { judgeOtherNames } from "./other_names.ts";
import { isInside } from "./target.ts";

/** The policy's evaluation of an action, with the limits in force. */
export interface ActionEvaluation extends Evaluation {
  limits: PolicyLimits;
  risk: RiskSettings;
  around: Surroundings;
}

/** The parts of a call that its plan does not hold. */
interface EvaluateOptions {
  raw?: Record<string, unknown>;
  requester?: Requester;
  /** The tool touches only the conversation. */
  is_quiet?: boolean;
  /** The folder from which relative paths start. */
  folder?: string;
  /** Why every call of the session is denied. */
  block_reason?: string | null;
  /** It was decided outside the sandbox, so it is judged as if this machine had none. */
  is_outside?: boolean;
}

/**
 * Evaluates every access, the command and the tool of an action; the strictest decision wins.
 * `raw` is the whole input of a tool that the gate only records, if it is still known. `requester`
 * is missing only for a question that no agent asks.
 */
export async function evaluateAction(
  services:
    & { config: Pick<Config, "inForce"> }
    & Partial<Pick<ActionServices, "neighbours" | "openings">>,
  input: ParsedInput,
  {
    raw = input.input,
    requester,
    is_quiet = false,
    folder,
    block_reason = null,
    is_outside = false,
  }: EvaluateOptions = {},
): Promise<ActionEvaluation> {
  const { compiled, around } = await services.config.inForce(
    requester?.home_project ?? undefined,
  );
  if (input.lease) {
    const how = { requester, block_reason };
    return await evaluateLease(services, { ...input, lease: input.lease }, how);
  }
  const engine = isOutside(input) || is_outside ? null : around.sandbox ?? null;
  const opened = engine && requester?.session_id
    ? await services.openings?.ofSession(requester.session_id)
    : undefined;
  const projects = engine && await services.neighbours?.roots();
  const sandbox = engine && { ...engine, ...opened && { opened }, ...projects && { projects } };
  const options = withFolders(compiled, { ...around, requester, sandbox });
  const call = { input, raw, is_quiet, folder };
  const own = await settled(around, () => {
    const found = strictestOf(
      layersOf(compiled, options).map(({ layer, options }) => evaluateUnder(layer, call, options)),
    );
    return input.command === null ? found : contain(found, compiled, options);
  });
  const named = namedBy(input, own);
  const guests = await services.neighbours?.touched(named) ?? [];
  const theirs = (await Promise.all(
    guests.map((guest) => evaluateAsGuest(guest, input, requester)),
  )).filter((one) => one !== null);
  // The files of another project are not in the sandbox.
  const alone = theirs.length > 0 ? withoutSandbox(own) : own;
  const judged = strictestOf([alone, ...theirs, ...await evaluateNames(services, named)]);
  const decided = block_reason === null ? judged : blocked(judged, block_reason);
  return { ...decided, named: own.named, limits: compiled.limits, risk: compiled.risk, around };
}

/** The strictest decision on the steps of a plan, and on the tool that submits it. */
async function evaluateLease(
  services: Parameters<typeof evaluateAction>[0],
  { lease: { steps }, ...input }: ParsedInput & { lease: NonNullable<ParsedInput["lease"]> },
  how: Pick<EvaluateOptions, "requester" | "block_reason">,
): Promise<ActionEvaluation> {
  // The title is no input that a rule could search.
  const tool = await evaluateAction(services, { ...input, input: {} }, { ...how, is_quiet: true });
  const isRule = tool.decision.rule !== null && tool.decision.effect !== "allow";
  const each = await Promise.all(steps.map(async ({ plan }, at) => {
    const found = await evaluateAction(services, plan, how);
    const reason = `Step ${at + 1} of ${steps.length}: ${found.decision.reason}`;
    return { ...found, decision: { ...found.decision, reason } };
  }));
  const { decision, ...found } = strictestOf([...isRule ? [tool] : [], ...each]);
  const { limits, risk, around } = tool;
  const none = { analysis: null, units: [], proof: null, outside: null };
  return { ...found, ...none, decision: { ...decision, sandbox: null }, limits, risk, around };
}

/** Whether a person answered the questions about an action beforehand. */
export function isRemembered({ grant_id, lease_id }: Decision): boolean {
  return grant_id !== undefined || lease_id !== undefined;
}

/**
 * Whether a call runs outside the sandbox: the agent wants it, or a host runs it that does not let
 * gate put it into one.
 */
function isOutside({ tool, native, input }: ParsedInput): boolean {
  if (native) return native.walled !== true;
  return tool !== "run_command" || wantsOutside({ tool, input }) !== null;
}

/** The evaluation as it is without the sandbox. Only `always` keeps what else it does. */
export function withoutSandbox<E extends Evaluation>(evaluation: E): E {
  const { outside } = evaluation;
  return outside === null ? evaluation : { ...evaluation, decision: outside, outside: null };
}

/** One layer decides on the whole action, because a tool rule counts beside what else it finds. */
function evaluateUnder(
  layer: PolicyLayer,
  { input, raw, is_quiet, folder }: Pick<EvaluateOptions, "is_quiet" | "folder"> & {
    input: ParsedInput;
    raw: Record<string, unknown>;
  },
  options: EvaluationOptions,
): Evaluation {
  const { command, cwd, accesses } = input;
  // A host's own tool reads under the same rules as a command.
  const is_plain_read = input.native !== undefined;
  const found = accesses.flatMap(({ access, target: { lexical, real }, below }) => {
    // A rule that allows the gate's reading tool applies if no rule names the path.
    const tool = access === "read" && !is_plain_read ? { tool: input.tool } : {};
    const path = { lexical, real };
    return [
      evaluateLayer(layer, { kind: "path", access, path, is_plain_read, ...tool }, options),
      ...below ? [evaluateLayer(layer, { kind: "search", folder: path, below }, options)] : [],
    ];
  });
  if (command !== null && cwd !== null) {
    const tool = is_plain_read ? {} : { tool: "run_command" };
    found.push(evaluateLayer(layer, { kind: "command", command, cwd, ...tool }, options));
  }
  // A tool that the gate does not know may do anything with its input.
  const searches = found.length === 0 && !is_quiet;
  const place = { cwd: folder, searches };
  const asTool = namesOf(input).map((name) =>
    evaluateLayer(layer, { kind: "tool", tool: name, input: raw, ...place }, options)
  );
  // A tool rule decides alone if nothing else was evaluated. Otherwise it can only be stricter.
  const counts = found.length === 0
    ? asTool.slice(0, 1)
    : asTool.filter(({ decision }) => decision.rule !== null && decision.effect !== "allow");
  return strictestOf([...found, ...counts]);
}

/** The evaluation of any call of a blocked session. */
function blocked(evaluation: Evaluation, why: string): Evaluation {
  if (evaluation.decision.effect === "deny") return evaluation;
  const rule = { pattern: "*", list: "blocks", source: "auto-block" as const };
  const reason = `gate has blocked this session: ${why}. A person must look at it first`;
  const decision = { effect: "deny" as const, rule, reason, alternative: LIFT, sandbox: null };
  return { ...evaluation, decision, matched: [rule, ...evaluation.matched] };
}

const LIFT = "Stop, and tell the person what happened; a reviewer can lift the block";

/** The paths of an action, in which the files of another project may be. */
function namedBy({ accesses, cwd }: ParsedInput, { named }: Evaluation): NamedPaths {
  const paths = accesses.flatMap(({ target: { lexical, real }, below }) =>
    below ? [lexical, real, `${real}/${DEEP}`] : [lexical, real]
  );
  const deletes = accesses.filter(({ access }) => access === "delete")
    .map(({ target }) => target.lexical);
  return {
    paths: [...paths, ...cwd === null ? [] : [cwd], ...named?.paths ?? []],
    accesses: [
      ...accesses.map(({ access, target }) => ({ access, path: target.real })),
      ...named?.accesses ?? [],
    ],
    open: [
      ...accesses.filter(({ below }) => below).map(({ target }) => target.shown),
      ...named?.open ?? [],
    ],
    deletes: [...deletes, ...named?.deletes ?? []],
    words: named?.words ?? [],
  };
}

/** The evaluation of files that have several names; none for ordinary files. */
async function evaluateNames(
  { config, neighbours }: Parameters<typeof evaluateAction>[0],
  named: NamedPaths,
): Promise<Evaluation[]> {
  const found = await judgeOtherNames(named, config, async () => [
    config,
    ...(await neighbours?.all() ?? []).map((one) => one.config),
  ]);
  if (found === null) return [];
  const { effect, reason } = found;
  const rule = { pattern: "**", list: "other-name", source: "builtin" as const };
  const finding = { effect, rule, reason, alternative: null };
  const asks = effect === "ask" ? [finding] : [];
  return [{
    ...nothingFound,
    decision: { ...finding, sandbox: null },
    matched: [rule],
    asks,
  }];
}

/** Evaluates the files that the action touches in another project by its rules; null for none. */
async function evaluateAsGuest(
  { id, config }: Neighbour,
  { command, cwd, accesses, native }: ParsedInput,
  requester: Requester | undefined,
): Promise<Evaluation | null> {
  const { compiled, around } = await config.inForce();
  const options = { ...around, is_guest: true, requester, sandbox: null };
  const is_plain_read = native !== undefined;
  const found = accesses.filter(({ target, access, below }) =>
    around.roots.some((root) =>
      isInside(target.real, root) || isInside(target.lexical, root) ||
      ((access === "delete" || below) && isInside(root, target.real))
    )
  ).flatMap(({ access, target: { lexical, real }, below }) => {
    const path = { lexical, real };
    return [
      evaluate(compiled, { kind: "path", access, path, is_plain_read }, options),
      ...below ? [evaluate(compiled, { kind: "search", folder: path, below }, options)] : [],
    ];
  });
  if (command !== null && cwd !== null) {
    found.push(evaluate(compiled, { kind: "command", command, cwd }, options));
  }
  if (found.length === 0) return null;
  const { decision, ...rest } = strictestOf(found);
  const reason = `${decision.reason} (by the rules of project "${id}")`;
  return { ...rest, decision: { ...decision, reason }, units: [] };
}

/** Evaluates a recorded action again, or another plan for it. The requester is the same. */
export async function evaluateAgain(
  services: Pick<ActionServices, "config" | "sessions">,
  { agent, session_id, plan, decision }: Pick<
    ActionRow,
    "agent" | "session_id" | "plan" | "decision"
  >,
  input: ParsedInput | Plan = plan!,
): Promise<ActionEvaluation> {
  const { host, block_reason, home_project } = await services.sessions.get(session_id);
  const requester = { agent, session_id, host, home_project };
  // A grant or a lease answers what is asked without the sandbox.
  const is_outside = isRemembered(decision) && decision.sandbox === null;
  return await evaluateAction(services, input, { requester, block_reason, is_outside });
}

/** The requester of a submission in this session. */
export function requesterIn(
  { id: session_id, agent, host, home_project }: Omit<ActionSession, "root" | "ended_at">,
): Requester & { session_id: string } {
  return { agent, session_id, host, home_project };
}

/** The names that a rule may use for the tool. Without another evaluation the first one decides. */
function namesOf({ tool, native }: ParsedInput): string[] {
  if (!native) return [tool, `mcp__gate__${tool}`];
  const plain = /^[\w-]+:(\w+)$/.exec(tool)?.[1];
  return plain === undefined ? [tool] : [tool, plain];
}
