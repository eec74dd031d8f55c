import { homedir } from "node:os";
import { listOfAction, listOfSession, listOfType, listSessionsWith } from "../../audit/store.ts";
import type { Caller } from "../../auth/schema.ts";
import { requireReviewer } from "../../auth/scopes.ts";
import type { Ledger } from "../../db/ledger.ts";
import type { Environment } from "../../environment.ts";
import { GateError } from "../../errors.ts";
import { canonical } from "../../evidence/canonical.ts";
import type { AuditEvent } from "../../evidence/schema.ts";
import { createGrowingCache } from "../../growing_cache.ts";
import type { OpenedWalls } from "../../policy/schema.ts";
import type { Proofs } from "../../proof/proofs.ts";
import { openedOf } from "../../sandbox/openings.ts";
import { type OpenWall, OpenWalls, type SessionOpening } from "../../sandbox/schema.ts";
import type { ActionRow } from "../store.ts";

const TYPES = ["wall.opened", "wall.closed"] as const;
const MAX_SESSIONS = 1_000;
const MOST_LISTED = 200;
const MOST_COUNTED = 1_000;

interface OpeningsServices {
  ledger: Ledger;
  environment: Environment;
  proofs: Pick<Proofs, "eventCheck">;
}

/** The walls of the sandbox that people opened for sessions. The log alone tells them. */
export class Openings {
  readonly #services: OpeningsServices;
  readonly #known = createGrowingCache<Promise<SessionOpening[]>>(MAX_SESSIONS);

  constructor(services: OpeningsServices) {
    this.#services = services;
  }

  /** The open walls of a session together. */
  async ofSession(session_id: string): Promise<OpenedWalls> {
    const all = await this.list(session_id);
    return openedOf(all.flatMap(({ walls }) => walls), homedir());
  }

  /** The openings of a session that a person has signed and nobody has closed. */
  async list(session_id: string): Promise<SessionOpening[]> {
    const known = this.#known.get(session_id);
    if (known) return await known;
    const reading = this.#read(session_id);
    this.#known.set(session_id, reading);
    try {
      return await reading;
    } catch (error) {
      this.#known.delete(session_id);
      throw error;
    }
  }

  /** The openings of every session that has not ended, newest first. */
  async listLive(isOpen: (session_id: string) => Promise<boolean>): Promise<SessionOpening[]> {
    const { ledger } = this.#services;
    const found: SessionOpening[] = [];
    for (const session_id of await listSessionsWith(ledger, "wall.opened", MOST_LISTED)) {
      if (await isOpen(session_id)) found.push(...(await this.list(session_id)).toReversed());
    }
    return found;
  }

  /** The walls that people opened since a time, with the approved actions; the most often first. */
  async openedSince(since: string): Promise<{ wall: OpenWall; actions: Set<string> }[]> {
    const { ledger } = this.#services;
    const counts = new Map<string, { wall: OpenWall; actions: Set<string> }>();
    for (const event of await listOfType(ledger, "wall.opened", { since, limit: MOST_COUNTED })) {
      const { data, action_id } = event;
      const open = OpenWalls.safeParse({ walls: data.walls, for: data.for });
      if (action_id === null || !open.success || !await this.#isProven(event, open.data)) continue;
      for (const wall of open.data.walls) {
        const key = canonical(wall);
        const known = counts.get(key) ?? { wall, actions: new Set<string>() };
        known.actions.add(action_id);
        counts.set(key, known);
      }
    }
    return [...counts.values()].sort((a, b) => b.actions.size - a.actions.size);
  }

  /** Reads the session again at its next command. Call it after a commit of an opening. */
  forget(session_id: string): void {
    this.#known.delete(session_id);
  }

  /** Closes what was opened for a session. @throws GateError `not_found` */
  async close(id: string, caller: Caller): Promise<SessionOpening> {
    requireReviewer(caller, "close the wall", "gate sandbox close");
    const found = (await this.listLive(() => Promise.resolve(true))).find((one) => one.id === id);
    if (!found) {
      const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
      throw new GateError("not_found", `Cannot find the open wall ${shown} in this project`);
    }
    const { session_id } = found;
    await this.#services.ledger.commit({
      statements: [],
      events: [{
        ...{ session_id, action_id: found.action_id, type: "wall.closed" },
        actor: { kind: "reviewer", id: caller.id },
        data: { opening_id: id, walls: found.walls },
      }],
    });
    this.forget(session_id);
    return found;
  }

  async #read(session_id: string): Promise<SessionOpening[]> {
    const { ledger } = this.#services;
    const events = await listOfSession(ledger, session_id, TYPES);
    const closed = new Set(
      events.filter(({ type }) => type === "wall.closed").map(({ data }) => data.opening_id),
    );
    const found: SessionOpening[] = [];
    for (const event of events) {
      const { type, data, action_id, actor, at } = event;
      if (type !== "wall.opened" || closed.has(data.opening_id) || action_id === null) continue;
      const open = OpenWalls.safeParse({ walls: data.walls, for: data.for });
      if (!open.success || open.data.for !== "session") continue;
      if (!await this.#isProven(event, open.data)) continue;
      const { walls } = open.data;
      const id = String(data.opening_id);
      found.push({ id, session_id, action_id, walls, opened_by: actor.id, opened_at: at });
    }
    return found;
  }

  /** Whether the log has a person's proof of exactly this opening. */
  async #isProven({ action_id, session_id, seq }: AuditEvent, open: OpenWalls): Promise<boolean> {
    const { ledger, proofs } = this.#services;
    const events = await listOfAction(ledger, action_id!);
    const approved = events.findLast((one) => one.type === "action.approved" && one.seq < seq);
    if (!approved || approved.session_id !== session_id) return false;
    const signed = (approved.data.asked as { open?: unknown } | undefined)?.open ?? null;
    if (canonical(signed) !== canonical(open)) return false;
    const check = await proofs.eventCheck();
    return check === null || await check(approved, null) === null;
  }
}

/** The walls that the approval of an action opens; null for none. Its proof is checked elsewhere. */
export async function openedByApproval(
  { ledger }: { ledger: Ledger },
  { id, tool, decided_by }: Pick<ActionRow, "id" | "tool" | "decided_by">,
): Promise<OpenWalls | null> {
  if (tool !== "run_command" || decided_by === null || decided_by === "policy") return null;
  const events = await listOfAction(ledger, id);
  const approved = events.findLast(({ type }) => type === "action.approved");
  return approved ? openedBy(approved) : null;
}

/** @throws GateError `unavailable` for an approval whose walls cannot be read */
function openedBy({ data }: AuditEvent): OpenWalls | null {
  const open = (data.asked as { open?: unknown } | undefined)?.open;
  if (open === undefined) return null;
  const read = OpenWalls.safeParse(open);
  if (read.success) return read.data;
  throw new GateError(
    "unavailable",
    "Cannot read which walls of the sandbox the approval opens",
    { next: "gate audit verify" },
  );
}
