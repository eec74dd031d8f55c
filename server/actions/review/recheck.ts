import { GateError } from "../../errors.ts";
import { whyLapsed } from "../../grants/matching.ts";
import { questionsOf } from "../../policy/grant.ts";
import { isUnchanged } from "../../runtime/find_program.ts";
import { readImage } from "../../runtime/file_image.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import type { ActionServices } from "../context.ts";
import type { Plan } from "../plan.ts";
import type { ActionRow } from "../store.ts";
import { evaluateAgain } from "../submit/evaluate.ts";
import { grantSubject } from "../submit/grant_use.ts";

/** Reads a file. Views use a cache; decisions do not. */
export type Reader = typeof readImage;

/**
 * Verifies that the decided plan still applies: the same files and scripts with the same contents,
 * and no policy against it. @throws GateError `conflict`, naming the change
 */
export async function recheck(
  services: ActionServices,
  row: ActionRow,
  read: Reader = readImage,
): Promise<void> {
  const plan = await checkAllButFiles(services, row, read);
  for (const one of [plan, ...stepsOf(plan)]) {
    for (const { path, shown, before } of one.changes) await checkFile(path, shown, before, read);
  }
}

/** Why an approval would fail; null if it would not. A changed base alone is no obstacle. */
export async function obstacleTo(
  services: ActionServices,
  row: ActionRow,
  { has_base }: { has_base: boolean },
): Promise<string | null> {
  if (row.status !== "pending") return null;
  const read: Reader = (path, keep) => services.seen.look(path, keep);
  try {
    if (has_base) await checkPlaces(await checkAllButFiles(services, row, read), read);
    else await recheck(services, row, read);
    return null;
  } catch (error) {
    if (error instanceof GateError) return error.message;
    // The view must still be shown. An approval would meet the same error.
    return "Cannot execute the action: it cannot be checked; reject it and let the agent try again";
  }
}

/**
 * A file can only be deleted or moved while it exists, and only be moved to a path where no file
 * exists. @throws GateError `conflict`
 */
export async function checkPlaces({ changes }: Plan, read: Reader = readImage): Promise<void> {
  const last = changes.at(-1);
  if (last?.after === null && await read(last.path, 0).catch(() => null) === null) {
    throw changed(`"${last.shown}" no longer exists`);
  }
  for (const { path, shown } of changes.slice(0, -1)) {
    const found = await read(path, 0).catch(() => undefined);
    if (found !== null) throw changed(`"${shown}" exists now`);
  }
}

/** @throws GateError `conflict` if a path leads to another file than before */
export function checkTargets({ accesses, cwd }: Plan): void {
  for (const { target } of accesses) {
    if (realOf(target.lexical) !== target.real) {
      throw changed(`"${target.shown}" now leads to another file`);
    }
  }
  if (cwd !== null && realOf(cwd) !== cwd) throw changed(`"${cwd}" was replaced`);
}

/** Everything but the files that the action changes. */
async function checkAllButFiles(
  services: ActionServices,
  row: ActionRow,
  read: Reader,
): Promise<Plan> {
  const { plan } = row;
  if (!plan) throw changed("its plan is unknown");
  const all = [plan, ...stepsOf(plan)];
  for (const one of all) checkTargets(one);
  await checkPolicy(services, row, plan);
  for (const { programs = [], scripts } of all) {
    for (const program of programs) {
      if (!isUnchanged(program)) throw changed(`the program "${program.path}" has changed`);
    }
    for (const script of scripts) await checkFile(script.path, script.path, script, read);
  }
  return plan;
}

function stepsOf({ lease }: Plan): Plan[] {
  return lease?.steps.map(({ plan }) => plan) ?? [];
}

/** Null if the path leads nowhere now. */
function realOf(path: string): string | null {
  try {
    return resolvePath(path).real;
  } catch {
    return null;
  }
}

async function checkPolicy(services: ActionServices, row: ActionRow, plan: Plan): Promise<void> {
  const why = await whyNotAllowed(services, row, plan);
  if (why !== null) throw changed(why);
}

/** Why the present policy does not allow the plan as it was decided; null if it does. */
export async function whyNotAllowed(
  services: ActionServices,
  row: ActionRow,
  plan: Plan,
): Promise<string | null> {
  const evaluation = await evaluateAgain(services, row, plan);
  const { decision } = evaluation;
  if (decision.effect === "deny") return `policy now blocks it: ${decision.reason}`;
  if (decision.effect !== "ask" || row.decided_by !== "policy") return null;
  const { grant_id, lease_id } = row.decision;
  if (lease_id !== undefined) {
    return await services.leases.whyEnded(row, questionsOf(evaluation.asks));
  }
  return grant_id === undefined
    ? `the policy now requires a person's approval: ${decision.reason}`
    : await whyLapsed(services, grant_id, grantSubject(row, evaluation));
}

async function checkFile(
  path: string,
  shown: string,
  expected: { sha256: string } | null,
  read: Reader,
): Promise<void> {
  const image = await read(path, 0).catch(() => undefined);
  if (image === undefined) throw changed(`"${shown}" is no longer a regular file`);
  const now = image?.sha256 ?? null;
  const then = expected?.sha256 ?? null;
  if (now === then) return;
  throw changed(`"${shown}" has changed since it was submitted`, {
    path: shown,
    expected_sha256: then,
    now_sha256: now,
  }, LOOK_AGAIN);
}

const LOOK_AGAIN = "look at it again: approve it on the present content (gate approve --rebase), " +
  "or reject it and let the agent try again";

function changed(
  what: string,
  fields: Record<string, unknown> = {},
  next = "reject it and let the agent try again",
): GateError {
  return new GateError("conflict", `Cannot execute the action: ${what}; ${next}`, { fields });
}
