import { sandboxOf } from "../../policy/contain.ts";
import type { OpenedWalls, Sandbox } from "../../policy/schema.ts";
import { findProgram } from "../../runtime/find_program.ts";
import type { ProcessIdentity } from "../../runtime/processes.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import { ownEnvironment } from "../../runtime/self.ts";
import { isWithin } from "../../sandbox/bubblewrap.ts";
import { runsOwnPrograms } from "../../sandbox/git_programs.ts";
import type { Planted } from "../../sandbox/git_state.ts";
import { joinOpened, openedOf } from "../../sandbox/openings.ts";
import type { Lane } from "../../sandbox/kept_lanes.ts";
import { type BuiltWalls, longestRun } from "../../sandbox/sandboxes.ts";
import { refused, UnbuildableError } from "../../sandbox/walls.ts";
import { type ActionServices, loadAction } from "../context.ts";
import { reportLeft, reportRemoved } from "../guarding/report.ts";
import { moveUnnamed, restore, type Restored } from "../guarding/restore.ts";
import { compare, type Difference } from "../guarding/snapshot.ts";
import { openedByApproval } from "../review/openings.ts";
import { runsChangeableCode } from "../own_code.ts";
import type { ActionRow } from "../store.ts";
import { evaluateAgain, isRemembered } from "../submit/evaluate.ts";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where a command runs: in the sandbox, outside without a person, or outside because of one. */
export type Side = "behind" | "outside" | null;

/** The process that runs a command, as far as it is known. */
type Runner = Pick<Lane, "process">;

/**
 * The side on which a claimed command runs, entered under this key. A proved command runs in the
 * sandbox too while another one does, if git would run programs of the project, and if it names files
 * of the session's own `/tmp`. @throws GateError `conflict` if it cannot start yet
 */
export async function enterSide(
  services: ActionServices,
  row: ActionRow,
  key: string,
  runner: Runner,
): Promise<Side> {
  const side = await outsideOf(services, row, key);
  if (side === "outside" || side === null) return side;
  await goBehind(services, row, key, runner);
  return "behind";
}

/** As `enterSide`, but enters nothing if the command is to run in the sandbox. */
export async function outsideOf(
  services: ActionServices,
  row: ActionRow,
  key: string,
): Promise<Side> {
  const { decision, decided_by } = row;
  if (decision.sandbox) return "behind";
  if (decided_by !== "policy" || isRemembered(decision)) return null;
  if (await runsCodeOfProject(services, row) || await namesOwnFiles(services, row)) return "behind";
  const lane = await laneOf(services, row);
  return services.sandboxes.lanes.outside(key, lane) ? "outside" : "behind";
}

/** Whether the command names files in `/tmp` that commands of its session made in the sandbox. */
async function namesOwnFiles(
  { config, sandboxes }: ActionServices,
  { session_id, command }: ActionRow,
): Promise<boolean> {
  const { compiled, around } = await config.inForce();
  if (command === null || !around.sandbox || compiled.sandbox.mode === "off") return false;
  return await sandboxes.namesOwnFiles(session_id, command);
}

/** Programs that run what a project has installed; a rule may allow that by its name. */
const RUNNERS =
  /\b(npx|bunx|pnpx|pnpm|yarn|uvx|pipx|(npm|bun)\s+(exec|x)|(uv|poetry)\s+run|bundle\s+exec)\b/;

/**
 * Whether the command starts a program of the project or an installed package, makes git run one, or
 * runs scripts, tests or builds that a rule allows by name: sandboxed commands can change these.
 */
async function runsCodeOfProject(
  { config, roots }: ActionServices,
  { analysis, command, cwd, root, plan, decision }: ActionRow,
): Promise<boolean> {
  const { compiled, around } = await config.inForce();
  if (!around.sandbox || compiled.sandbox.mode === "off") return false;
  if (RUNNERS.test(command ?? "")) return true;
  const commands = analysis?.commands ?? [];
  // A default that allows lets an agent run any code outside anyway.
  const isNamed = decision.rule !== null;
  if (isNamed && runsChangeableCode({ scripts: plan?.scripts ?? [], commands })) return true;
  const search_path = plan?.search_path ?? ownEnvironment()["PATH"] ?? "";
  const names = [...new Set(commands.map(([name = ""]) => name))];
  return names.some((name) => liesIn(roots, name, cwd ?? root, search_path)) ||
    runsOwnPrograms(commands, [...roots, cwd ?? root]);
}

/** Whether this name of a program leads into one of the folders, by itself or by a link. */
function liesIn(
  roots: readonly string[],
  name: string,
  folder: string,
  search_path: string,
): boolean {
  const program = name === "" ? null : findProgram(name, folder, search_path);
  if (program === null || roots.includes("/")) return false;
  return [program.path, resolvePath(program.path).real]
    .some((path) => roots.some((root) => isWithin(path, root)));
}

/**
 * Enters the side of the sandbox under this key. @throws GateError `conflict` if a command outside
 * works in the same folders for too long
 */
export async function goBehind(
  services: ActionServices,
  row: ActionRow,
  key: string,
  more: Partial<Lane> = {},
): Promise<void> {
  const { lanes } = services.sandboxes;
  lanes.leave(key);
  const writes_elsewhere = await mayWriteElsewhere(services, row);
  const lane = { ...await laneOf(services, row), writes_elsewhere, ...more };
  // Only bubblewrap ends a command with the process that started it.
  if (await engineOf(services) !== "bubblewrap") delete lane.process;
  if (await lanes.behind(key, lane)) return;
  throw refused(
    "a command outside the sandbox works in the same project, and one could deceive the other",
    "submit it again when the other command has ended",
  );
}

async function engineOf({ config }: ActionServices) {
  return (await config.inForce()).around.sandbox?.engine;
}

async function laneOf({ roots, config }: ActionServices, row: ActionRow): Promise<Lane> {
  return {
    action_id: row.id,
    folders: roots.includes("/") ? [row.cwd ?? row.root] : roots,
    at_most_ms: longestRun((await config.inForce()).compiled),
  };
}

/** Whether the policy or a person lets a sandboxed command write outside its project. */
async function mayWriteElsewhere(services: ActionServices, row: ActionRow): Promise<boolean> {
  const { home_project } = await services.sessions.get(row.session_id);
  const { compiled } = await services.config.inForce(home_project ?? undefined);
  const { writable } = await openedFor(services, row);
  return [...compiled.sandbox.writable, ...writable]
    .some((folder) => leadsOutside(folder, services.roots));
}

/** Whether a folder is outside of all roots, also by a link in one of them. `~` is the home. */
export function leadsOutside(folder: string, roots: readonly string[]): boolean {
  const { real } = resolvePath(folder.replace(/^~(?=\/)/, () => homedir()));
  return !roots.some((root) => isWithin(real, root));
}

/**
 * The walls behind which a claimed command runs; null if it runs outside. @throws UnbuildableError if
 * they cannot be built: then the command must not run, unless a person approved it outside for that
 */
export async function wallsFor(
  services: ActionServices,
  row: ActionRow,
  { side, key, isAble, runner }: { side: Side; key: string; isAble: boolean; runner: Runner },
): Promise<Walled | null> {
  const decided = await sandboxFor(services, row);
  const isOpened = await openedByApproval(services, row) !== null;
  if (decided === null && side !== "behind" && !isOpened) return null;
  if (!isAble) {
    const why = "the process that claims it cannot start a sandbox, as one of an older gate";
    throw refused(why, "restart the agent's host and submit it again");
  }
  // The files have changed since the decision, so that its text is no longer proved.
  if (side !== "behind") await goBehind(services, row, key, runner);
  try {
    return await wallsBehind(services, row, isOpened ? null : decided);
  } catch (error) {
    const wasShownOutside = row.decided_by !== "policy" && !row.decision.sandbox && !isOpened;
    if (!(error instanceof UnbuildableError) || !wasShownOutside) throw error;
    services.sandboxes.lanes.leave(key);
    return null;
  }
}

/** The walls of a command on the side of the sandbox; without a decided sandbox, the policy's. */
export async function wallsBehind(
  services: ActionServices,
  row: ActionRow,
  decided: Sandbox | null,
): Promise<Walled> {
  const { sandboxes, config, sessions, neighbours } = services;
  const { home_project } = await sessions.get(row.session_id);
  const { compiled, around } = await config.inForce(home_project ?? undefined);
  const opened = await openedFor(services, row);
  const engine = { engine: around.sandbox?.engine ?? "none", opened };
  const sandbox = decided ?? sandboxOf(compiled, engine, around);
  const built = await sandboxes.build({
    ...{ action_id: row.id, session_id: row.session_id, sandbox, opened, compiled, around },
    command: row.command!,
    cwd: row.cwd!,
    projects: await neighbours.roots(),
    search_paths: [row.plan?.search_path, ownEnvironment()["PATH"]].filter((one) =>
      one !== undefined
    ),
  });
  return { ...built, sandbox };
}

/** The walls of a command, and what its decision says about them. */
export interface Walled extends BuiltWalls {
  sandbox: Sandbox;
}

/** The walls that people opened for this command: by its approval, and for its session. */
async function openedFor(services: ActionServices, row: ActionRow): Promise<OpenedWalls> {
  const open = await openedByApproval(services, row);
  const once = openedOf(open?.walls ?? [], homedir());
  return joinOpened(once, await services.openings.ofSession(row.session_id));
}

/** The policy answers again, because a row of the ledger may have been changed by another program. */
export async function sandboxFor(
  services: ActionServices,
  row: ActionRow,
): Promise<Sandbox | null> {
  const recorded = row.decision.sandbox ?? null;
  const { decision } = await evaluateAgain(services, row);
  // A command that a person approved runs outside, unless the policy lets nothing run there.
  const isApproved = row.decided_by !== "policy" && decision.effect === "allow";
  return isApproved ? recorded : decision.sandbox ?? recorded;
}

/**
 * Moves the files away that appeared while the command ran and that a rule blocks or keeps. Call it
 * after the guarded files were compared. With `goes_on` the command may still run, and is looked at
 * again when it ends.
 */
export async function endWalls(
  services: ActionServices,
  row: ActionRow,
  { goes_on = false } = {},
): Promise<Restored[]> {
  const { sandboxes, config, sessions } = services;
  if (!sandboxes.knows(row.id)) return [];
  const { home_project } = await sessions.get(row.session_id);
  const rules = await config.inForce(home_project ?? undefined);
  const removed = await removePlanted(services, row, await sandboxes.appeared(row.id, rules));
  // Only now: if the report fails, gate looks again.
  if (goes_on) sandboxes.goOn(row.id);
  else sandboxes.end(row.id);
  return removed;
}

/**
 * Ends the walls of a command that has ended, as `endWalls` does. If a process is left of it
 * (`goes_on`), the command keeps its side, its session is blocked, and gate looks again when the
 * process is gone.
 */
export async function leaveWalls(
  services: ActionServices,
  row: ActionRow,
  left: ProcessIdentity | null,
): Promise<{ removed: Restored[]; goes_on: boolean }> {
  const { lanes } = services.sandboxes;
  // Only a command in the sandbox can leave a process, also one whose walls were ended for its silence.
  const goes_on = left !== null && row.decision.sandbox !== null;
  // First the block: nothing goes on that is not recorded.
  if (goes_on) await reportLeft(services, row, left);
  const removed = await endWalls(services, row, { goes_on });
  if (goes_on) lanes.goOn(row.id, left);
  else lanes.end(row.id);
  return { removed, goes_on };
}

/**
 * Moves programs away that commands in the sandbox, which still run, put in the place of the machine's
 * programs. A command that starts outside would run them.
 */
export async function removeShadows(services: ActionServices): Promise<void> {
  for (const [id, planted] of services.sandboxes.shadows(services.roots)) {
    if (planted.length > 0) await removePlanted(services, await loadAction(services, id), planted);
  }
}

async function removePlanted(
  services: ActionServices,
  row: ActionRow,
  planted: readonly Planted[],
): Promise<Restored[]> {
  const folder = join(services.environment.home, "quarantine", row.id);
  const removed: Restored[] = [];
  for (const { path, instead, kind } of planted) {
    if (kind !== undefined) {
      const kept = kind === "unnamed" ? moveUnnamed(path, folder) : null;
      removed.push({ ...CREATED, path, restored: kept !== null, quarantine: kept, walled: true });
      continue;
    }
    const created = compare([{ path, deep: false }], new Map())[0];
    // Else it was removed with its folder, or by the comparison of the guarded files.
    if (!created) continue;
    const difference = instead === null ? created : replacing(created, instead);
    removed.push({ ...restore(difference, folder, { follows: false }), walled: true });
  }
  if (removed.length > 0) await reportRemoved(services, row, removed);
  return removed;
}

const CREATED = { change: "created", before_sha256: null, after_sha256: null } as const;

/** The difference that puts this in the place of what a command left there. */
function replacing(
  { path, now }: Difference,
  instead: NonNullable<Planted["instead"]>,
): Difference {
  const kept = { signature: "", mode: now?.mode ?? 0o644, sha256: null, above: null };
  const before = "link" in instead
    ? { ...kept, kind: "link" as const, content: null, target: instead.link }
    : {
      ...kept,
      kind: "file" as const,
      content: new TextEncoder().encode(instead.text),
      target: null,
    };
  return { path, change: "modified", before, now };
}
