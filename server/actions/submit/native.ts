import { dirname, isAbsolute, sep } from "node:path";
import type { Caller } from "../../auth/schema.ts";
import { requireNotViewer } from "../../auth/scopes.ts";
import { GateError } from "../../errors.ts";
import type { Searched } from "../../policy/request.ts";
import type { Analysis, PolicyLimits } from "../../policy/schema.ts";
import { type FileImage, readImage } from "../../runtime/file_image.ts";
import { missingFolders } from "../../runtime/folder.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import { MAX_CALL_BYTES, MAX_IN_MEMORY, textOf } from "../contents.ts";
import type { ActionContext, ActionSession } from "../context.ts";
import type { Access, ParsedInput, PlannedChange } from "../plan.ts";
import type { ActionRow } from "../store.ts";
import { isGateTool } from "../tools.ts";
import { withinBudget } from "./budget.ts";
import { circumstancesOf } from "./circumstances.ts";
import { evaluateAction, requesterIn } from "./evaluate.ts";
import { checkCommand, checkToolName, recordedInput } from "./input.ts";
import { type After, newState, planChanges, type Planned, planNothing } from "./plan_action.ts";
import { recordSubmission } from "./record.ts";
import { scriptsOf } from "./scripts.ts";
import { checkHostPath, resolveTarget } from "./target.ts";

/** One effect of a call of a host's own tool, as its input tells it. */
export type Use =
  | { is: "command"; command: string; cwd: string }
  | {
    is: "read";
    path: string;
    /** For a search: the files below the path that it reads. */
    below?: Searched;
  }
  | { is: "delete"; path: string }
  | {
    is: "write";
    path: string;
    /** The path of the old text. It differs from `path` for a moved file. */
    from: string;
    /** Makes the new text from the old one; returns null if only the host knows it. */
    make: (old: string | null) => string | null;
  };

/** A call of a host's own tool: the gate decides and records, the host executes. */
export interface NativeCall {
  host: string;
  /** The host's name for the tool. */
  tool: string;
  input: Record<string, unknown>;
  /** The absolute folder from which relative paths start. */
  cwd: string;
  uses: Use[];
  /** The host's own name for this call. */
  key: string | null;
  /** The tool touches only the conversation: it is recorded only if a rule names it. */
  is_quiet: boolean;
  /** Its host runs what gate puts in the place of its command. */
  can_wall?: boolean;
}

const MAX_FILES = 500;

/** Evaluates and records a call of a host's own tool. Returns null for a quiet tool without a rule. */
export async function submitNative(
  context: ActionContext,
  session: ActionSession,
  call: NativeCall,
  caller: Caller,
): Promise<{ row: ActionRow; is_own: boolean } | null> {
  requireNotViewer(caller, "submit an action");
  const { services } = context;
  const id = services.environment.id();
  const input = parseNative(call, session.root, id);
  const evaluation = await evaluateAction(services, input, {
    raw: call.input,
    requester: requesterIn(session),
    is_quiet: call.is_quiet,
    folder: call.cwd,
    block_reason: session.block_reason,
  });
  const { decision, analysis, limits } = evaluation;
  if (call.is_quiet && decision.rule === null) return null;
  const planned = decision.effect === "deny"
    ? planNothing(input)
    : await planNative(input, call, analysis, limits);
  const judged = await withinBudget(services, session.id, evaluation, planned);
  if (judged.decision.effect === "ask" && judged.decision.sandbox) {
    planned.plan.sandbox = judged.decision.sandbox;
  }
  const circumstances = await circumstancesOf(services, session.id, judged, planned);
  const parts = {
    ...{ session, analysis, planned, evaluation: judged, circumstances },
    decision: judged.decision,
  };
  const { row } = await recordSubmission(context, judged, caller, parts);
  // An equal call that is still open answers for this one.
  return { row, is_own: row.plan?.native?.id === id };
}

/** The name under which a host's tool is recorded. It never equals the name of a gate's tool. */
export function recordedName(host: string, tool: string): string {
  return isGateTool(tool) ? `${host}:${tool}` : tool;
}

/** The absolute form of a path in a host's input. */
export function absolute(path: string, cwd: string): string {
  return isAbsolute(path) ? path : `${cwd}${cwd.endsWith(sep) ? "" : sep}${path}`;
}

/** @throws GateError `invalid` if the input is ambiguous */
function parseNative(call: NativeCall, root: string, id: string): ParsedInput {
  const { uses, tool } = call;
  checkToolName(tool);
  const commands = uses.filter((use) => use.is === "command");
  if (commands.length > 1 || uses.length > MAX_FILES) {
    throw new GateError("invalid", `Cannot evaluate "${tool}": one call does too much`);
  }
  const [command] = commands;
  const accesses = accessesOf(call, root);
  if (command) checkCommand(command.command, "evaluate the command");
  return {
    tool: recordedName(call.host, tool),
    path: accesses[0]?.target.shown ?? null,
    command: command?.command ?? null,
    cwd: command ? resolvePath(command.cwd).real : null,
    accesses,
    ...recordedInput(call.input),
    native: { id, key: call.key, new_folders: [], ...call.can_wall && { walled: true as const } },
  };
}

function accessesOf({ uses, cwd }: NativeCall, root: string): Access[] {
  const accesses: Access[] = [];
  for (const use of uses) {
    if (use.is === "command") continue;
    const isRead = use.is === "read";
    const written = isRead ? withoutTail(use.path) : use.path;
    const path = absolute(written, cwd);
    if (!isRead || !/^\.?$/.test(written)) checkHostPath(written);
    const target = resolveTarget(isRead ? withoutTail(path) || sep : path, root);
    accesses.push({ access: use.is, target, ...isRead && use.below && { below: use.below } });
  }
  return accesses;
}

/** A search may read a folder, so `.` and `src/` are valid paths of a read. */
function withoutTail(path: string): string {
  return path.replace(/(?:[\\/]+\.?)+$/, "");
}

/** One file of a call. */
interface FileStep {
  path: string;
  shown: string;
  before: FileImage | null;
  /** The text after the call; null if the file is gone, undefined if only the host knows it. */
  text: string | null | undefined;
}

/**
 * Plans the file changes of a call and keeps the present contents for a rollback. The result of a
 * change that only the host knows is read from the file once the host has reported.
 */
async function planNative(
  input: ParsedInput,
  call: NativeCall,
  analysis: Analysis | null,
  limits: PolicyLimits,
): Promise<Planned> {
  const steps = await stepsOf(input, call);
  const changes = steps.map((step) => ({ ...step, after: afterOf(step) }));
  const planned = planChanges(input, changes, limits);
  const known = planned.plan.changes.map((change, i): PlannedChange =>
    steps[i]!.text === undefined ? { ...change, after: change.before, guessed: true } : change
  );
  const folders = steps.filter(({ before }) => before === null)
    .flatMap(({ path }) => missingFolders(dirname(path)));
  const native = { ...input.native!, new_folders: [...new Set(folders)] };
  const scripts = input.cwd === null
    ? []
    : await scriptsOf(analysis, { command: input.command, cwd: input.cwd });
  return { ...planned, plan: { ...planned.plan, changes: known, scripts, native } };
}

/** One step for each file, even if the call touches it several times. */
async function stepsOf(input: ParsedInput, { uses, cwd }: NativeCall): Promise<FileStep[]> {
  const steps = new Map<string, FileStep>();
  let left = MAX_CALL_BYTES;
  const files = uses.filter((use) => use.is !== "command");
  for (const [i, use] of files.entries()) {
    if (use.is === "read") continue;
    const { real, shown } = input.accesses[i]!.target;
    const step = steps.get(real) ?? await readStep(real, shown, left);
    if (!steps.has(real)) left -= step.before?.content?.length ?? 0;
    steps.set(real, step);
    if (use.is === "delete") step.text = null;
    else {
      const old = await oldText(use.from, cwd, steps);
      left = Math.max(0, left - (old?.length ?? 0));
      step.text = left > 0 ? use.make(old) ?? undefined : undefined;
    }
  }
  return [...steps.values()].filter(({ before, text }) => before !== null || text !== null);
}

async function readStep(path: string, shown: string, left: number): Promise<FileStep> {
  const before = await readImage(path, Math.min(MAX_IN_MEMORY, left));
  return { path, shown, before, text: undefined };
}

/** The text before an edit: the result of an earlier step of the call, else the file's content. */
async function oldText(from: string, cwd: string, steps: Map<string, FileStep>) {
  const { real } = resolveTarget(absolute(from, cwd), cwd);
  const known = steps.get(real);
  if (typeof known?.text === "string") return known.text;
  const image = known ? known.before : await readImage(real, MAX_IN_MEMORY);
  return image?.content ? textOf(image.content) : null;
}

function afterOf({ text }: FileStep): After | null {
  return typeof text === "string" ? newState(new TextEncoder().encode(text), null) : null;
}
