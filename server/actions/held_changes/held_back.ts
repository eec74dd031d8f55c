import { lstatSync } from "node:fs";
import type { Caller } from "../../auth/schema.ts";
import { GateError } from "../../errors.ts";
import type { PolicyLimits } from "../../policy/schema.ts";
import { builtin, toDecision } from "../../policy/finding.ts";
import { readImage } from "../../runtime/file_image.ts";
import { type ProjectCopy, removeCopy } from "../../sandbox/review/copy_project.ts";
import {
  findChanges,
  type FoundChange,
  type FoundChanges,
  type LeftOut,
} from "../../sandbox/review/find_changes.ts";
import type { Content } from "../contents.ts";
import type { ActionContext, ActionServices } from "../context.ts";
import { rateReversibility } from "../effects/forecast.ts";
import type { Access, HeldBack, LeftOutFiles, ParsedInput } from "../plan.ts";
import { inTurns } from "../scheduling.ts";
import type { ActionRow, Fields } from "../store.ts";
import { type ActionEvaluation, evaluateAction, requesterIn } from "../submit/evaluate.ts";
import { planChanges, type Planned } from "../submit/plan_action.ts";
import { recordSubmission } from "../submit/record.ts";
import { resolveTarget, shownPath } from "../submit/target.ts";

/** More files are more than a person reads. */
const MOST_FILES = 500;
const MOST_LISTED = 100;

/** Starts a command, and with it the copy in which it works. The copy goes if the start fails. */
export async function startOnCopy<T>(
  { sandboxes }: ActionServices,
  { id, copy }: { id: string; copy: ProjectCopy | null },
  start: () => Promise<T | null>,
): Promise<T | null> {
  let started: T | null = null;
  try {
    started = await start();
  } finally {
    if (copy && started === null) await removeCopy(copy);
  }
  if (copy && started !== null) sandboxes.startCopy(id, copy);
  return started;
}

/**
 * Holds the changes that a command made to its copy of the project, as one action for a person.
 * Returns the fields of the command that tell about it; null if its changes were not held back.
 * With `goes_on` a process of it may still change the copy.
 */
export async function heldBackOf(
  context: ActionContext,
  row: ActionRow,
  { caller, goes_on }: { caller: Caller; goes_on: boolean },
): Promise<{ fields: Fields; statements: [] } | null> {
  if (!row.decision.sandbox?.held_back) return null;
  const held_back = goes_on
    ? await dropChanges(context, row)
    : await holdChanges(context, row, caller);
  return {
    fields: {
      plan: { ...row.plan!, held_back },
      reversible: false,
      reversibility: rateReversibility([], 0, false),
    },
    statements: [],
  };
}

/** Drops the changes, because nobody can review what a process still changes. */
async function dropChanges({ services }: ActionContext, { id }: ActionRow): Promise<HeldBack> {
  await services.sandboxes.dropCopy(id);
  return nothing("a process of it could not be ended, so its changes were dropped");
}

async function holdChanges(
  context: ActionContext,
  row: ActionRow,
  caller: Caller,
): Promise<HeldBack> {
  const { environment, sandboxes } = context.services;
  const started = sandboxes.takeCopy(row.id);
  if (!started) return nothing("gate stopped while it ran, so its changes were dropped");
  try {
    const found = await findChanges(started.copy, started.started_ns);
    if (typeof found === "string") return nothing(found);
    return await hold(context, row, { ...found, caller });
  } catch (error) {
    // The result of the command must be recorded nevertheless.
    if (!(error instanceof GateError)) {
      environment.log("error", "Cannot hold the changes of a command", {
        ...{ action_id: row.id, error: String(error) },
      });
    }
    return nothing(error instanceof GateError ? error.message : "its changes cannot be read");
  } finally {
    await removeCopy(started.copy);
  }
}

const TOO_MANY = `it changed more than ${MOST_FILES} files, and gate holds no more at once`;

interface Found extends FoundChanges {
  caller: Caller;
}

async function hold(context: ActionContext, row: ActionRow, found: Found): Promise<HeldBack> {
  const { services } = context;
  const { limits } = (await services.config.inForce()).compiled;
  const { removed_folders, caller } = found;
  const left_out = [...found.left_out];
  const read: Read[] = [];
  for await (const change of inTurns(found.changes)) {
    const one = await readChange(row, change, limits);
    if (one === null) continue;
    if ("why" in one) left_out.push(one);
    else if (read.push(one) > MOST_FILES) return nothing(TOO_MANY, listed(row, left_out));
  }
  const session = await services.sessions.get(row.session_id);
  const how = { requester: requesterIn(session), block_reason: session.block_reason };
  const allowed: Read[] = [];
  for await (const one of inTurns(read)) {
    const why = whyNever(await evaluateAction(services, inputOf([one]), how));
    if (why === null) allowed.push(one);
    else left_out.push({ path: one.target.real, why });
  }
  const rest = listed(row, left_out);
  const isChanged = allowed.length > 0 || removed_folders.length > 0;
  if (!isChanged) return { action_id: null, files: 0, why: null, left_out: rest };
  const planned = planOf(row, allowed, { removed_folders, limits, left_out: rest });
  const evaluation = asking(await evaluateAction(services, planned.plan, how));
  const { decision } = evaluation;
  if (decision.effect === "deny") return nothing(`policy blocks it: ${decision.reason}`, rest);
  const submitted = await recordSubmission(context, evaluation, caller, {
    ...{ session, decision, analysis: null, planned, evaluation },
  });
  return { action_id: submitted.row.id, files: allowed.length, why: null, left_out: rest };
}

/** Why no person is even asked about a change; null if one is. */
function whyNever({ decision, asks }: ActionEvaluation): string | null {
  if (decision.effect === "deny") return `policy blocks it: ${decision.reason}`;
  // Such a file runs code or changes the rules, and a list of many changes hides it.
  const guarded = asks.find(({ rule }) =>
    rule?.source === "builtin" && rule.list === "never-automatic"
  );
  return guarded ? `gate guards it: ${guarded.reason}` : null;
}

/** A change with both states of its file. */
interface Read {
  target: Access["target"];
  access: "write" | "delete";
  before: Awaited<ReturnType<typeof readImage>>;
  after:
    | { state: NonNullable<Planned["plan"]["changes"][number]["after"]>; content: Content }
    | null;
}

/** Reads both states. Returns null if they are equal, and why gate does not take over the change. */
async function readChange(
  row: ActionRow,
  { path, from, mode, is_new }: FoundChange,
  { maxBlobBytes }: PolicyLimits,
): Promise<Read | LeftOut | null> {
  try {
    const target = resolveTarget(path, row.root);
    if (target.real !== path) return { path, why: "a folder above it is a link now" };
    // A larger file is not even hashed.
    const size = from === null ? 0 : lstatSync(from).size;
    if (size > maxBlobBytes) {
      return { path, why: `its ${size} bytes are more than maxBlobBytes (${maxBlobBytes})` };
    }
    const before = await readImage(path, 0);
    if ((before === null) !== is_new) return { path, why: "it changed in the project meanwhile" };
    if (from === null) return { target, access: "delete", before, after: null };
    // An error would name the place of the copy.
    const image = await readImage(from, 0).catch(() => null);
    if (image === null) return { path, why: "its new content cannot be read" };
    if (before?.sha256 === image.sha256 && mode === null) return null;
    const { sha256, bytes } = image;
    const content = { sha256, content: { path: from, bytes } };
    return { target, access: "write", before, after: { state: { sha256, bytes, mode }, content } };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return { path, why: error.message };
  }
}

function planOf(
  { id, command }: ActionRow,
  read: readonly Read[],
  { removed_folders, limits, left_out }: {
    removed_folders: string[];
    limits: PolicyLimits;
    left_out: LeftOutFiles;
  },
): Planned {
  const changes = read.map(({ target: { real: path, shown }, before, after }) => ({
    ...{ path, shown, before },
    after: after && { state: after.state, content: null },
  }));
  const { plan, contents, irreversible } = planChanges(inputOf(read), changes, limits);
  const taken_from = { action_id: id, command: command ?? "", left_out };
  return {
    plan: { ...plan, emptied_folders: removed_folders, taken_from },
    contents: [...contents, ...read.flatMap(({ after }) => after ? [after.content] : [])],
    irreversible,
  };
}

function inputOf(read: readonly Read[]): ParsedInput {
  return {
    tool: "apply_changes",
    ...{ path: null, command: null, cwd: null, input: {}, input_sha256: null },
    accesses: read.map(({ access, target }) => ({ access, target })),
  };
}

/** The evaluation with the question that the mode `review` asks about every change. */
function asking(evaluation: ActionEvaluation): ActionEvaluation {
  if (evaluation.decision.effect !== "allow") return evaluation;
  const finding = builtin("ask", "sandbox", "*", WHY);
  const { asks, matched } = evaluation;
  return {
    ...evaluation,
    decision: toDecision(finding),
    matched: [finding.rule!, ...matched],
    asks: [finding, ...asks],
  };
}

const WHY = "The policy holds back what commands change in the project; a person must approve it";

function listed({ root }: ActionRow, all: readonly LeftOut[]): LeftOutFiles {
  const files = all.slice(0, MOST_LISTED)
    .map(({ path, why }) => ({ path: shownPath(path, root), why }));
  return { files, count: all.length };
}

function nothing(why: string, left_out: LeftOutFiles = { files: [], count: 0 }): HeldBack {
  return { action_id: null, files: 0, why, left_out };
}
