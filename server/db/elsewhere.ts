import { LRUCache } from "lru-cache";
import { GateError } from "../errors.ts";
import type { Ledger } from "./ledger.ts";
import { ownSessions, SHOWN_NAME } from "./machines.ts";

/** The machine of each session that was asked for; it never changes. */
const known = new WeakMap<Ledger, LRUCache<string, { name: string; is_own: boolean }>>();
const MOST_KNOWN = 1_000;

/**
 * The name of the other machine on which the agent of a session works; null for a session of this one.
 * Its files and processes are there.
 */
export async function elsewhere(ledger: Ledger, session_id: string): Promise<string | null> {
  if (ledger.machine === null) return null;
  const sessions = known.get(ledger) ?? new LRUCache({ max: MOST_KNOWN });
  known.set(ledger, sessions);
  const found = sessions.get(session_id) ?? await findMachineOf(ledger, session_id);
  if (found === null) return null;
  sessions.set(session_id, found);
  return found.is_own ? null : found.name;
}

/** @throws GateError `conflict` for a session of another machine */
export async function requireHere(
  ledger: Ledger,
  session_id: string,
  attempt: string,
): Promise<void> {
  const machine = await elsewhere(ledger, session_id);
  if (machine === null) return;
  const message = `Cannot ${attempt}: its agent works on another machine, ${machine}; do it there`;
  throw new GateError("conflict", message, { fields: { machine } });
}

/** The machine of a session, where several share the ledger; null for an unknown session. */
async function findMachineOf(
  ledger: Ledger,
  session_id: string,
): Promise<{ id: string; name: string; is_own: boolean } | null> {
  const [row] = await ledger.all(
    `SELECT machines.id, ${SHOWN_NAME} AS name, (true${ownSessions(ledger)}) AS is_own FROM sessions
      JOIN machines ON machines.id =
        coalesce(sessions.machine, (SELECT id FROM machines WHERE is_first))
      WHERE sessions.project_id = ? AND sessions.id = ?`,
    [ledger.project_id, session_id],
  );
  return row ? { id: String(row.id), name: String(row.name), is_own: row.is_own === 1 } : null;
}
