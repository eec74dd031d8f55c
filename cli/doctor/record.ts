import { unwrap } from "../../server/client.ts";
import { MACHINE_ID } from "../../server/constants.ts";
import { waitingChanges } from "../config/accept.ts";
import { type Connection, openConnection, scopedClient } from "../daemon/connect.ts";
import { blockedSubject, reachedQuotas } from "../daemon/limits.ts";
import { count } from "../terminal/output.ts";
import { findLost, witness } from "../witness/witness.ts";
import type { Remedy } from "../../server/doctor/schema.ts";
import { quote } from "../../server/shown/quote.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";

const NONE_RUNS = "the running daemon knows it; none runs";
const MOST_PROJECTS = 50;

/** Reports each change of a config that waits for a person. Skips files that have a line already. */
export async function checkAccepted(context: CheckContext, found: Findings): Promise<void> {
  const connection = await connectTo(context);
  if (connection === null) return;
  for (const id of projectsOf(context)) {
    const view = await unwrap(scopedClient(connection, id).api.config.$get());
    // The machine's config waits in every project.
    const isReported = (path: string) => found.list.some(({ message }) => message.includes(path));
    for (const { path } of waitingChanges(view).filter((change) => !isReported(change.path))) {
      const of = id === MACHINE_ID ? "" : ` --project ${id}`;
      found.warn(
        `a change of ${path} waits: what it allows is not in force until you accept it`,
        `gate config show${of}, then gate config accept${of}`,
        pageOf("policy", id),
      );
    }
  }
}

/** Checks that gate has blocked no session, such as after guarded files changed unseen. */
export async function checkBlocks(context: CheckContext, found: Findings): Promise<void> {
  const connection = await connectTo(context);
  if (connection === null) return found.ok(NONE_RUNS);
  for (const id of projectsOf(context)) {
    const { items } = await unwrap(scopedClient(connection, id).api.remediation.blocks.$get());
    const [newest] = items;
    if (newest === undefined) continue;
    const more = items.length > 1 ? ` (and ${count(items.length - 1, "more block")})` : "";
    found.warn(
      `${newest.agent === null ? "a session" : blockedSubject(newest)} of "${id}" is blocked: ` +
        `${newest.reason}${more}`,
      `look at it: gate session blocks --project ${id}; then gate session unblock ` +
        `${quote(newest.agent ?? newest.session_id)} --project ${id}`,
      pageOf("remediation", id),
    );
  }
  if (found.list.length === 0) found.ok("no session is blocked");
}

/** Checks that no agent has reached a quota lately: until then gate refuses what it submits. */
export async function checkQuotas(context: CheckContext, found: Findings): Promise<void> {
  const connection = await connectTo(context);
  if (connection === null) return found.ok(NONE_RUNS);
  for (const id of projectsOf(context)) {
    for (const line of await reachedQuotas(scopedClient(connection, id), Date.now())) {
      found.warn(
        `in "${id}" ${line}`,
        `gate session list --project ${id}`,
        pageOf("sessions", id),
      );
    }
  }
  if (found.list.length === 0) found.ok("no agent has reached a quota in the last hour");
}

/** Checks that no ledger lost or changed an event that a terminal has seen. It remembers nothing. */
export async function checkSeen(context: CheckContext, found: Findings): Promise<void> {
  const connection = await connectTo(context);
  if (connection === null) return found.ok(NONE_RUNS);
  const { io } = context;
  const known = (context.daemon?.projects ?? []).map(({ id }) => id);
  const cut = await witness(io, connection, known, { remembers: false });
  for (const { project_id, what } of [...cut, ...await findLost(io, connection, known)]) {
    found.fail(
      `the audit log of "${project_id}" is not what it was: ${what}`,
      "gate audit verify",
      pageOf("audit", project_id),
    );
  }
  if (found.list.length === 0) found.ok("the audit logs hold everything that terminals have seen");
}

async function connectTo({ io, daemon }: CheckContext): Promise<Connection | null> {
  return daemon && await openConnection(io, { scope: "viewer", start: false });
}

/** The page on which a person looks at it, and resolves it with a proof where one is needed. */
function pageOf(page: Remedy["page"], project: string): Remedy {
  return { kind: "page", page, project };
}

/** The projects whose ledger can be opened. */
function projectsOf({ daemon }: CheckContext): string[] {
  const reachable = (daemon?.projects ?? []).filter((project) => project.reachable);
  return reachable.map(({ id }) => id).slice(0, MOST_PROJECTS);
}
