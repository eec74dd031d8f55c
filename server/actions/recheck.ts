import { GateError } from "../errors.ts";
import { readImage } from "../runtime/files.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { judge } from "./judge.ts";
import type { Plan } from "./plan.ts";
import type { ActionServices } from "./services.ts";
import type { ActionRow } from "./store.ts";

/**
 * Makes sure that what was decided is still what would happen: the same files with the same content,
 * the same scripts, and no policy against it. @throws GateError `conflict`, saying what has changed
 */
export async function recheck(services: ActionServices, row: ActionRow): Promise<void> {
  const { plan } = row;
  if (!plan) throw changed("nothing is known of what it would do");
  checkTargets(plan);
  await checkPolicy(services, row, plan);
  for (const change of plan.changes) await checkBase(change.path, change.shown, change.before);
  for (const script of plan.scripts) await checkBase(script.path, script.path, script);
}

function checkTargets({ accesses, cwd }: Plan): void {
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
  const { decision } = await judge(services, plan);
  if (decision.effect === "deny") throw changed(`policy blocks it by now: ${decision.reason}`);
  if (decision.effect === "ask" && row.decided_by === "policy") {
    throw changed(`policy wants a person to decide by now: ${decision.reason}`);
  }
}

async function checkBase(
  path: string,
  shown: string,
  expected: { sha256: string } | null,
): Promise<void> {
  const image = await readImage(path, 0).catch(() => undefined);
  if (image === undefined) throw changed(`"${shown}" is no longer a file that can be used`);
  const now = image?.sha256 ?? null;
  const then = expected?.sha256 ?? null;
  if (now === then) return;
  throw changed(`"${shown}" has changed since it was submitted`, {
    path: shown,
    expected_sha256: then,
    now_sha256: now,
  });
}

function changed(what: string, fields: Record<string, unknown> = {}): GateError {
  const message = `Cannot carry the action out: ${what}; reject it and let the agent try again`;
  return new GateError("conflict", message, { fields });
}
