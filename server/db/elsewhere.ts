import { LRUCache } from "lru-cache";
import type { z } from "zod";
import { type ErrorCode, GateError } from "../errors.ts";
import type { Ledger } from "./ledger.ts";
import { ownSessions, SHOWN_NAME } from "./machines.ts";

/** The machine of each session that was asked for; it never changes. */
const known = new WeakMap<Ledger, LRUCache<string, Found>>();
const MOST_KNOWN = 1_000;

/**
 * The name of the other machine on which the agent of a session works; null for a session of this one.
 * Its files and processes are there.
 */
export async function elsewhere(ledger: Ledger, session_id: string): Promise<string | null> {
  const machine = await machineOf(ledger, session_id);
  return machine === null || machine.is_own ? null : machine.name;
}

/** @throws GateError `conflict` for a session of another machine */
export async function requireHere(
  ledger: Ledger,
  session_id: string,
  attempt: string,
): Promise<void> {
  const machine = await elsewhere(ledger, session_id);
  if (machine !== null) throw away(attempt, machine, "do it there");
}

/** A request of a person about a session or an action of it. */
export interface Request {
  verb: "approve" | "approve_with_edit" | "rollback" | "replay" | "rollback_session";
  id: string;
  input: unknown;
  caller: { member_id: string | null; proof: unknown };
}

/**
 * Passes a request about a session of another machine to that machine, which has its files and rules.
 * Returns the answer of that machine; null for a session of this machine. @throws GateError `conflict`
 * while that machine is away or its answer is none of this schema, or the error with which it refuses
 */
export async function passElsewhere<T>(
  ledger: Ledger,
  session_id: string,
  attempt: string,
  { verb, id, input, caller: { member_id, proof } }: Request,
  schema: z.ZodType<T>,
): Promise<{ body: T } | null> {
  const machine = await machineOf(ledger, session_id);
  if (machine === null || machine.is_own) return null;
  const { name } = machine;
  const now = (await ledger.listMachines()).find((one) => one.id === machine.id);
  if (!now) throw away(attempt, name, "that machine no longer shares the ledger");
  if (!now.is_connected) throw away(attempt, name, `it is not connected; ${START_THERE}`);
  if (now.schema < PASSING_SINCE) {
    throw away(attempt, name, `it runs gate ${now.version}; do it there, or update gate there`);
  }
  const passed = await ledger.pass(machine.id, { verb, id, input, member_id, proof });
  if ("failed" in passed) {
    const why = passed.failed === "not taken"
      ? `it does not answer, and nothing was done; ${START_THERE}`
      : "it took the request and has not answered; look at the action before you try again";
    throw away(attempt, name, why);
  }
  // The caller must find the commits that the answer is about.
  await ledger.sync();
  const { answer } = passed;
  if ("refused" in answer) {
    const { code, message, fields } = answer.refused;
    const known = REFUSALS.find((one) => one === code) ?? "internal";
    throw new GateError(known, message, { fields: { ...fields, machine: name } });
  }
  // Whoever writes the ledger can write an answer.
  const { success, data } = schema.safeParse(answer.body);
  if (!success) {
    throw away(attempt, name, "its answer cannot be read; look at the action before you try again");
  }
  return { body: data };
}

/**
 * The codes with which a machine refuses a request. Others are about the connection of a client to its
 * own daemon: a page would ask for a new login.
 */
const REFUSALS: readonly ErrorCode[] = [
  ...["invalid", "forbidden", "proof_required", "not_found", "timeout", "conflict"] as const,
  ...["identity_changed", "digest_mismatch", "too_large", "unavailable"] as const,
];

const START_THERE = "start gate there (gate daemon start) and try again";

/** The schema of the first release that carries out requests of other machines. */
const PASSING_SINCE = 24;

function away(attempt: string, machine: string, next: string): GateError {
  const message = `Cannot ${attempt}: its agent works on another machine, ${machine}; ${next}`;
  return new GateError("conflict", message, { fields: { machine } });
}

interface Found {
  id: string;
  name: string;
  is_own: boolean;
}

/** The machine of a session, where several share the ledger; null for an unknown session. */
async function machineOf(ledger: Ledger, session_id: string): Promise<Found | null> {
  if (ledger.machine === null) return null;
  const sessions = known.get(ledger) ?? new LRUCache({ max: MOST_KNOWN });
  known.set(ledger, sessions);
  const found = sessions.get(session_id) ?? await findMachineOf(ledger, session_id);
  if (found !== null) sessions.set(session_id, found);
  return found;
}

async function findMachineOf(ledger: Ledger, session_id: string): Promise<Found | null> {
  const [row] = await ledger.all(
    `SELECT machines.id, ${SHOWN_NAME} AS name, (true${ownSessions(ledger)}) AS is_own FROM sessions
      JOIN machines ON machines.id =
        coalesce(sessions.machine, (SELECT id FROM machines WHERE is_first))
      WHERE sessions.project_id = ? AND sessions.id = ?`,
    [ledger.project_id, session_id],
  );
  return row ? { id: String(row.id), name: String(row.name), is_own: row.is_own === 1 } : null;
}
