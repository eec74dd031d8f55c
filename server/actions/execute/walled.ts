import { sandboxOf } from "../../policy/contain.ts";
import type { Sandbox } from "../../policy/schema.ts";
import { runsOwnPrograms } from "../../sandbox/git_programs.ts";
import type { Lane } from "../../sandbox/lanes.ts";
import type { Walls } from "../../sandbox/schema.ts";
import { refused } from "../../sandbox/walls.ts";
import type { ActionServices } from "../context.ts";
import { reportRemoved } from "../guarding/report.ts";
import { restore, type Restored } from "../guarding/restore.ts";
import { compare } from "../guarding/snapshot.ts";
import type { ActionRow } from "../store.ts";
import { evaluateAgain } from "../submit/evaluate.ts";
import { join } from "node:path";

/** Where a command runs: in the sandbox, outside without a person, or outside because of one. */
export type Side = "behind" | "outside" | null;

/**
 * The side on which a claimed command runs, entered under this key. A proved command runs in the
 * sandbox too while another one does, and if git would run programs of the project. @throws GateError `conflict` if it cannot start yet
 */
export async function enterSide(
  services: ActionServices,
  row: ActionRow,
  key: string,
): Promise<Side> {
  const { lanes } = services.sandboxes;
  const { decision, decided_by } = row;
  const isOutside = !decision.sandbox;
  if (isOutside && (decided_by !== "policy" || decision.grant_id !== undefined)) return null;
  const isSafe = !await runsOwnCode(services, row);
  if (isOutside && isSafe && lanes.outside(key, await laneOf(services, row))) return "outside";
  await goBehind(services, row, key);
  return "behind";
}

/** Programs that run what a project has installed; a rule may allow that by its name. */
const RUNNERS =
  /\b(npx|bunx|pnpx|pnpm|yarn|uvx|pipx|(npm|bun)\s+(exec|x)|(uv|poetry)\s+run|bundle\s+exec)\b/;

/** Whether the command runs installed packages, or makes git run programs, that sandboxed commands can change. */
async function runsOwnCode(
  { config, roots }: ActionServices,
  { analysis, command, cwd, root }: ActionRow,
): Promise<boolean> {
  const { compiled, around } = await config.inForce();
  if (!around.sandbox || compiled.sandbox.mode === "off") return false;
  if (RUNNERS.test(command ?? "")) return true;
  return runsOwnPrograms(analysis?.commands ?? [], [...roots, cwd ?? root]);
}

async function goBehind(services: ActionServices, row: ActionRow, key: string): Promise<void> {
  const { lanes } = services.sandboxes;
  lanes.leave(key);
  if (await lanes.behind(key, await laneOf(services, row))) return;
  throw refused(
    "a command outside the sandbox works in the same project, and one could deceive the other",
    "submit it again when the other command has ended",
  );
}

/** An outcome that nobody reports counts as unknown after this time. */
const UNREPORTED_MS = 60_000;

async function laneOf({ roots, config }: ActionServices, row: ActionRow): Promise<Lane> {
  const { limits } = (await config.inForce()).compiled;
  return {
    action_id: row.id,
    folders: roots.includes("/") ? [row.cwd ?? row.root] : roots,
    at_most_ms: limits.commandTimeoutSeconds * 1000 + UNREPORTED_MS,
  };
}

/**
 * The walls behind which a claimed command runs; null if it runs outside. @throws GateError `conflict`
 * if they cannot be built: then the command must not run
 */
export async function wallsFor(
  services: ActionServices,
  row: ActionRow,
  { side, key }: { side: Side; key: string },
): Promise<Walled | null> {
  const decided = await sandboxFor(services, row);
  if (decided === null && side !== "behind") return null;
  // The files have changed since the decision, so that its text is no longer proved.
  if (side !== "behind") await goBehind(services, row, key);
  const { sandboxes, config, sessions, neighbours } = services;
  const { home_project } = await sessions.get(row.session_id);
  const { compiled, around } = await config.inForce(home_project ?? undefined);
  const sandbox = decided ?? sandboxOf(compiled, around.sandbox?.engine ?? "none", around);
  const walls = await sandboxes.build({
    ...{ action_id: row.id, session_id: row.session_id, sandbox, compiled, around },
    command: row.command!,
    cwd: row.cwd!,
    projects: await neighbours.roots(),
  });
  return { walls, sandbox };
}

/** The walls of a command, and what its decision says about them. */
export interface Walled {
  walls: Walls;
  sandbox: Sandbox;
}

/** The policy answers again, because a row of the ledger may have been changed by another program. */
async function sandboxFor(services: ActionServices, row: ActionRow): Promise<Sandbox | null> {
  const recorded = row.decision.sandbox ?? null;
  const { decision } = await evaluateAgain(services, row);
  // What a person approved runs outside, unless the policy lets nothing run there.
  const isApproved = row.decided_by !== "policy" && decision.effect === "allow";
  return isApproved ? recorded : decision.sandbox ?? recorded;
}

/**
 * Moves the files away that appeared while the command ran and that a rule blocks or keeps. Call it
 * after the guarded files were compared.
 */
export async function endWalls(services: ActionServices, row: ActionRow): Promise<Restored[]> {
  const { sandboxes, environment } = services;
  const folder = join(environment.home, "quarantine", row.id);
  const removed: Restored[] = [];
  for (const path of await sandboxes.appeared(row.id)) {
    const difference = compare([{ path, deep: false }], new Map())[0];
    // With its folder, or by the comparison of the guarded files.
    if (difference) removed.push({ ...restore(difference, folder), walled: true });
  }
  if (removed.length > 0) await reportRemoved(services, row, removed);
  return removed;
}
