import { GateError } from "../errors.ts";
import { readImage } from "../runtime/file_image.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { whyNoLonger } from "../grants/answering.ts";
import { askedAction } from "./granted.ts";
import { judge } from "./judge.ts";
import type { Plan } from "./plan.ts";
import type { ActionServices } from "./services.ts";
import type { ActionRow } from "./store.ts";

/**
 * Makes sure that what was decided is still what would happen: the same files with the same content,
 * the same scripts, and no policy against it. @throws GateError `conflict`, saying what has changed
 */
export async function recheck(
  services: ActionServices,
  row: ActionRow,
  look: Look = readImage,
): Promise<void> {
  const plan = await checkAround(services, row, look);
  for (const { path, shown, before } of plan.changes) await checkBase(path, shown, before, look);
}

/** How a file is looked at. */
export type Look = typeof readImage;

/** Why an approval would be refused; null where nothing stands against it, but perhaps its base. */
export async function obstacleTo(
  services: ActionServices,
  row: ActionRow,
  { has_base }: { has_base: boolean },
): Promise<string | null> {
  if (row.status !== "pending") return null;
  const look: Look = (path, keep) => services.seen.look(path, keep);
  try {
    if (has_base) await checkPlaces(await checkAround(services, row, look), look);
    else await recheck(services, row, look);
    return null;
  } catch (error) {
    if (error instanceof GateError) return error.message;
    // Whoever looks has to see it all the same; its approval would meet the same fault.
    return "Cannot carry the action out: it cannot be checked; reject it and let the agent try again";
  }
}

/** Everything but the files that it changes. */
async function checkAround(
  services: ActionServices,
  row: ActionRow,
  look: Look,
): Promise<Plan> {
  const { plan } = row;
  if (!plan) throw changed("nothing is known of what it would do");
  checkTargets(plan);
  await checkPolicy(services, row, plan);
  for (const script of plan.scripts) await checkBase(script.path, script.path, script, look);
  return plan;
}

/**
 * Whatever a file has become, it can only be deleted or moved while it is there, and only to where
 * nothing else is. @throws GateError `conflict`
 */
export async function checkPlaces({ changes }: Plan, look: Look = readImage): Promise<void> {
  const last = changes.at(-1);
  if (last?.after === null && await look(last.path, 0).catch(() => null) === null) {
    throw changed(`"${last.shown}" is gone by now`);
  }
  for (const { path, shown } of changes.slice(0, -1)) {
    const found = await look(path, 0).catch(() => undefined);
    if (found !== null) throw changed(`something stands at "${shown}" by now`);
  }
}

/** @throws GateError `conflict` where a name leads elsewhere by now */
export function checkTargets({ accesses, cwd }: Plan): void {
  for (const { target } of accesses) {
    if (realOf(target.lexical) !== target.real) {
      throw changed(`"${target.shown}" leads to another file by now`);
    }
  }
  if (cwd !== null && realOf(cwd) !== cwd) throw changed(`"${cwd}" was replaced`);
}

/** Null where it leads nowhere by now. */
function realOf(path: string): string | null {
  try {
    return resolvePath(path).real;
  } catch {
    return null;
  }
}

async function checkPolicy(services: ActionServices, row: ActionRow, plan: Plan): Promise<void> {
  const judgement = await judge(services, plan);
  const { decision } = judgement;
  if (decision.effect === "deny") throw changed(`policy blocks it by now: ${decision.reason}`);
  if (decision.effect !== "ask" || row.decided_by !== "policy") return;
  const { grant_id } = row.decision;
  const why = grant_id === undefined
    ? `policy wants a person to decide by now: ${decision.reason}`
    : await whyNoLonger(services, grant_id, askedAction(row, judgement));
  if (why !== null) throw changed(why);
}

async function checkBase(
  path: string,
  shown: string,
  expected: { sha256: string } | null,
  look: Look,
): Promise<void> {
  const image = await look(path, 0).catch(() => undefined);
  if (image === undefined) throw changed(`"${shown}" is no longer a file that can be used`);
  const now = image?.sha256 ?? null;
  const then = expected?.sha256 ?? null;
  if (now === then) return;
  throw changed(`"${shown}" has changed since it was submitted`, {
    path: shown,
    expected_sha256: then,
    now_sha256: now,
  }, LOOK_AGAIN);
}

const LOOK_AGAIN = "look at it again: what is held can be approved on what stands there now " +
  "(base_sha256, gate approve --rebase), or reject it and let the agent try again";

function changed(
  what: string,
  fields: Record<string, unknown> = {},
  next = "reject it and let the agent try again",
): GateError {
  const message = `Cannot carry the action out: ${what}; ${next}`;
  return new GateError("conflict", message, { fields });
}
