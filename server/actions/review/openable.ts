import { homedir } from "node:os";
import { dirname } from "node:path";
import { GateError } from "../../errors.ts";
import { sandboxOf } from "../../policy/contain.ts";
import { needOf } from "../../policy/programs/needs.ts";
import { joinOpened, openedOf } from "../../sandbox/openings.ts";
import type { AskedHost, OpenWall, OpenWalls } from "../../sandbox/schema.ts";
import { pathsMet } from "../../sandbox/walls_met.ts";
import type { ActionServices } from "../context.ts";
import type { ApproveInput } from "../schema.ts";
import { outputOf } from "../show/answer.ts";
import { type ActionRow, findEarlier } from "../store.ts";

/**
 * A command runs in the sandbox with the opened walls, so this machine and the policy need to have one.
 * @throws GateError `invalid`
 */
export async function requireOpenable(
  services: ActionServices,
  row: ActionRow,
  { remember, permit, base_sha256 }: ApproveInput,
  { walls, for: span }: OpenWalls,
): Promise<void> {
  if (remember !== undefined || permit !== undefined || base_sha256 !== undefined) {
    throw refused('approve it without "remember", "permit" and "base_sha256"');
  }
  const { ended_at } = await services.sessions.get(row.session_id);
  if (span === "session" && ended_at !== null) {
    throw refused("its session has ended; open it once");
  }
  const whyNot = await whyNotIn(services, row);
  if (typeof whyNot === "string") throw refused(whyNot);
  for (const wall of walls) {
    const why = whyNot(wall);
    const name = wall.kind === "host" ? wall.host : wall.path;
    if (why !== null) throw refused(`${JSON.stringify(name)}: ${why}`);
  }
  const why = await whyNoWalls(services, row, walls);
  if (why !== null) throw refused(`the sandbox of this command cannot be built: ${why}`);
}

function refused(why: string): GateError {
  return new GateError("invalid", `Cannot open the wall: ${why}`);
}

const MOST_OFFERED = 10;

/**
 * The walls of which a held command or its last run in the sandbox tells, as far as a person can open
 * them; null if no wall can be opened for it.
 */
export async function offeredWalls(
  services: ActionServices,
  row: ActionRow,
): Promise<OpenWall[] | null> {
  if (row.status !== "pending") return null;
  const whyNot = await whyNotIn(services, row);
  if (typeof whyNot === "string" || await whyNoWalls(services, row, []) !== null) return null;
  const met = [...await metEarlier(services, row), ...named(row)]
    .filter((wall) => whyNot(wall) === null);
  const unique = new Map(met.map((wall) => [JSON.stringify(wall), wall]));
  return [...unique.values()].slice(0, MOST_OFFERED);
}

/** Tells of each wall why a person cannot open it; a text if none can be opened for this action. */
async function whyNotIn(
  { config, sessions, sandboxes, neighbours }: ActionServices,
  row: ActionRow,
): Promise<string | ((wall: OpenWall) => string | null)> {
  if (row.tool !== "run_command") return "only the tool run_command can run in the sandbox then";
  const { home_project } = await sessions.get(row.session_id);
  const { compiled, around } = await config.inForce(home_project ?? undefined);
  if (!around.sandbox) return "this machine has no sandbox engine; run gate doctor";
  if (compiled.sandbox.mode === "off") return "the policy turns the sandbox off";
  const projects = await neighbours.roots();
  return (wall) => sandboxes.whyNotOpenable(wall, { compiled, around, projects });
}

/** Why the command has no sandbox with these walls open; null if it has one. */
async function whyNoWalls(
  { config, sessions, sandboxes, neighbours, openings }: ActionServices,
  { session_id, command, cwd }: ActionRow,
  walls: readonly OpenWall[],
): Promise<string | null> {
  const { home_project } = await sessions.get(session_id);
  const { compiled, around } = await config.inForce(home_project ?? undefined);
  const opened = joinOpened(await openings.ofSession(session_id), openedOf(walls, homedir()));
  const engine = { engine: around.sandbox?.engine ?? "none", opened };
  return await sandboxes.whyNot({
    ...{ session_id, command: command!, cwd: cwd!, opened, compiled, around },
    sandbox: sandboxOf(compiled, engine, around),
    projects: await neighbours.roots(),
  });
}

/** The walls that the last run of the same command met. */
async function metEarlier(services: ActionServices, row: ActionRow): Promise<OpenWall[]> {
  const earlier = await findEarlier(services.ledger, row);
  if (!earlier?.decision.sandbox) return [];
  const asked = earlier.plan?.asked_hosts ?? [];
  const { output } = await outputOf(services, earlier);
  return [
    ...asked.filter(({ answer }) => answer === "refused").map(asWall),
    ...pathsMet(output).flatMap(asPaths),
  ];
}

/** The hosts and files that the command itself names. */
function named({ analysis }: ActionRow): OpenWall[] {
  const needs = (analysis?.commands ?? []).map((argv) => needOf(argv));
  return [
    ...needs.flatMap((need) => need?.hosts ?? []).map((host) => ({ kind: "host" as const, host })),
    ...[...analysis?.reads ?? [], ...analysis?.writes ?? []].flatMap(asPaths),
  ];
}

/** The usual ports belong to a host without one. */
function asWall({ host, port }: AskedHost): OpenWall {
  const name = host.includes(":") ? `[${host}]` : host;
  return { kind: "host", host: port === 80 || port === 443 ? name : `${name}:${port}` };
}

/** A file that is to be made needs its folder. */
function asPaths(path: string): OpenWall[] {
  if (path.length > 1024) return [];
  const folders = [path, dirname(path)];
  return [
    { kind: "readable", path },
    ...folders.map((folder) => ({ kind: "writable" as const, path: folder })),
  ];
}
