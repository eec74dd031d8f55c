import { Command } from "@commander-js/extra-typings";
import { ProblemError, unwrap } from "../../server/client.ts";
import type { DaemonStatus } from "../../server/global/schema.ts";
import { projectOfFolder } from "../../server/projects/folder.ts";
import type { ProofKind } from "../../server/proof/schema.ts";
import { type Connection, openConnection, scopedClient } from "../daemon/connect.ts";
import { showDaemonStatus } from "../daemon/show_status.ts";
import { unreadProjects } from "../daemon/unread.ts";
import type { Io } from "../io.ts";
import { blockedSubject, reachedQuotas } from "../daemon/limits.ts";
import { count, paint, print, printJson } from "../terminal/output.ts";
import { findRegistered, findRoot } from "../project.ts";
import { examples } from "../options.ts";
import { describeProof } from "../proof/describe.ts";
import { visibleLine } from "../terminal/visible.ts";
import { quote } from "../../server/shown/quote.ts";
import { findLost, sayStepBacks, type StepBack, witness } from "../witness/witness.ts";

/** `gate status`: the daemon, the project of this folder, and the held actions. */
export function createCommand(io: Io) {
  return new Command("status")
    .description("Show the daemon, the project of this folder and the number of held actions.")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate status", "gate status --json | jq .pending"))
    .action(async ({ json }) => {
      const connection = await openConnection(io, { scope: "viewer", start: false });
      const readStatus = () => unwrap(connection.client.api.daemon.status.$get());
      const known = await readStatus();
      const root = findRoot(io) ?? findRegistered(io.cwd, known.projects);
      const here_id = root === null ? undefined : projectOfFolder(root, known.projects)?.id;
      const health = here_id === undefined ? null : await askHealth(connection, here_id);
      // Opening this folder's ledger may have found what is wrong with it.
      const daemon = here_id === undefined ? known : await readStatus();
      const project = daemon.projects.find(({ id }) => id === here_id);
      const pending = daemon.projects.reduce((sum, { pending_count }) => sum + pending_count, 0);
      sayStepBacks(io, await lookBack(io, connection, daemon, project?.id));
      const proof = await unwrap(connection.client.api.proof.$get());
      const { kind } = proof;
      const here = { root, project: project ?? null };
      if (json) return printJson(io, { daemon, ...here, pending, health, proof: kind });
      showDaemonStatus(io, daemon);
      print(io, paint(io, isProved(kind) ? "dim" : "yellow", `Proof: ${describeProof(proof)}`));
      print(io);
      print(io, describeHere(io, root, project));
      if (health) showHealth(io, health);
      const waiting = `${count(pending, "held action")}: gate pending`;
      const none = unreadProjects(daemon).length === 0
        ? "No action is held."
        : "No action is held in the projects that can be read.";
      print(io, pending ? paint(io, "yellow", waiting) : none);
    });
}

/** Whether a decision needs something that a program of this user does not have. */
function isProved(kind: ProofKind): boolean {
  return kind === "passphrase" || kind === "passkey";
}

/** Whether this folder's ledger lost something, or the gate a whole project. */
async function lookBack(
  io: Io,
  connection: Connection,
  { projects }: DaemonStatus,
  here: string | undefined,
): Promise<StepBack[]> {
  const cut = await witness(io, connection, here === undefined ? [] : [here]);
  return [...cut, ...await findLost(io, connection, projects.map(({ id }) => id))];
}

/** The state of a project: an error while all actions are denied, and warnings. */
interface ProjectHealth {
  error: string | null;
  warnings: string[];
}

async function askHealth(connection: Connection, id: string): Promise<ProjectHealth> {
  try {
    const { api } = scopedClient(connection, id);
    const { error, warnings } = await unwrap(api.config.$get());
    const { items } = await unwrap(api.remediation.blocks.$get());
    const blocked = items.map((block) =>
      `${startOf(blockedSubject(block))} is blocked: ${block.reason}; look at it, then ` +
      `gate session unblock ${quote(block.agent ?? block.session_id)}`
    );
    // A session is blocked again for the same reason each time it tries.
    const shown = [...new Set(blocked)].slice(0, MOST_BLOCKS);
    const quotas = (await reachedQuotas(scopedClient(connection, id), Date.now())).map(startOf);
    return { error, warnings: [...warnings, ...shown, ...quotas] };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return { error: error.problem.detail, warnings: [] };
  }
}

const MOST_BLOCKS = 3;

function startOf(line: string): string {
  return `${line[0]!.toUpperCase()}${line.slice(1)}`;
}

function showHealth(io: Io, { error, warnings }: ProjectHealth): void {
  if (error) print(io, paint(io, "red", `! ${visibleLine(error)}`));
  for (const warning of warnings) print(io, paint(io, "yellow", `! ${visibleLine(warning)}`));
}

function describeHere(
  io: Io,
  root: string | null,
  project: DaemonStatus["projects"][number] | undefined,
): string {
  if (!root) return "This folder belongs to no project. Create one: gate init";
  if (!project) return `${visibleLine(root)} is not registered yet. Register it: gate init`;
  return `This folder belongs to ${paint(io, "bold", visibleLine(project.id))}`;
}
