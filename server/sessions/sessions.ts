import type { Caller } from "../auth/schema.ts";
import type { Environment } from "../environment.ts";
import { DEFAULT_LIMIT, readCursor, toPage } from "../db/cursor.ts";
import type { Ledger } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type {
  Session,
  SessionInput,
  SessionList,
  SessionQuery,
  SessionStatusView,
} from "./schema.ts";
import {
  endSession,
  findOpenSession,
  findSession,
  insertSession,
  listActionStates,
  listSessions,
  type SessionRow,
  toSession,
} from "./store.ts";

export interface SessionServices {
  environment: Environment;
  ledger: Ledger;
  /** Real paths of the project's folders; never empty, the first is the main one. */
  roots: readonly string[];
}

/** The fields of a default session, for a caller that submits without opening a session. */
const DEFAULT_CLIENT = { host: "unknown", client: "none" };

/** The connections of agents to one project. */
export class Sessions {
  readonly #services: SessionServices;
  readonly #opening = new Map<string, Promise<Session>>();

  constructor(services: SessionServices) {
    this.#services = services;
  }

  /** Opens a session in a root of the project, by default the main one. */
  async open(input: SessionInput, caller: Caller): Promise<Session> {
    const { environment, ledger } = this.#services;
    const session = {
      id: environment.id(),
      project_id: ledger.project_id,
      root: this.#rootOf(input.root),
      host: plain(input.host ?? DEFAULT_CLIENT.host),
      agent: plain(input.agent ?? caller.id),
      client: plain(input.client ?? DEFAULT_CLIENT.client),
      started_at: new Date(environment.now()).toISOString(),
    };
    const { host, agent, client, root } = session;
    const { rows } = await ledger.commit({
      statements: [insertSession(session)],
      events: [{
        session_id: session.id,
        action_id: null,
        type: "session.started",
        actor: actorOf(caller),
        data: { host, agent, client, root, detected_by: input.detected_by ?? null },
      }],
    });
    return publicOf(toSession(rows[0]![0]!));
  }

  /**
   * The session for an action: the named one, which must be open, else the caller's default
   * session. Opens that if necessary. @throws GateError `not_found`, `conflict`
   */
  async resolve(id: string | undefined, caller: Caller): Promise<Session> {
    if (id === undefined) return await this.#default(caller);
    const session = await this.get(id);
    if (session.ended_at === null) return session;
    throw new GateError("conflict", `Cannot use session "${id}": it has ended; open a new one`);
  }

  /** The open session of an agent, host and client in a root. Opens one if necessary. */
  join(input: Required<SessionInput>, caller: Caller): Promise<Session> {
    const { agent, host, client, root } = input;
    const key = JSON.stringify([agent, host, client, root]);
    return this.#once(key, async () => {
      const of = { agent: plain(agent), host: plain(host), client: plain(client) };
      const found = await findOpenSession(this.#services.ledger, of);
      return found?.root === root ? publicOf(found) : await this.open(input, caller);
    });
  }

  /** Ends a session. Idempotent. */
  async end(id: string, caller: Caller): Promise<Session> {
    const { environment, ledger } = this.#services;
    const session = await this.get(id);
    const at = new Date(environment.now()).toISOString();
    const { update, when } = endSession(session, environment.id(), at);
    await ledger.commit({
      statements: [update],
      when,
      events: [{
        session_id: id,
        action_id: null,
        type: "session.ended",
        actor: actorOf(caller),
        data: {},
      }],
    });
    return await this.get(id);
  }

  /** @throws GateError `not_found` */
  async get(id: string): Promise<Session> {
    const found = id.includes("\0") ? null : await findSession(this.#services.ledger, id);
    if (found) return publicOf(found);
    throw new GateError("not_found", `Cannot find session "${id}" in this project`);
  }

  /** The rollback state of the session and the status of its actions, newest first. */
  async status(id: string): Promise<SessionStatusView> {
    const { id: session_id, rollback_state } = await this.get(id);
    const actions = await listActionStates(this.#services.ledger, session_id);
    return { session_id, rollback_state, actions };
  }

  /** One page of sessions, newest first. */
  async list(query: SessionQuery): Promise<SessionList> {
    const limit = query.limit ?? DEFAULT_LIMIT;
    const before = readCursor(query.cursor);
    const rows = await listSessions(this.#services.ledger, query, { before, limit: limit + 1 });
    const { items, next_cursor } = toPage(rows, limit);
    return { items: items.map(publicOf), next_cursor };
  }

  #default(caller: Caller): Promise<Session> {
    return this.#once(caller.id, () => this.#findOrOpenDefault(caller));
  }

  /** Concurrent calls with the same key share one opening. */
  #once(key: string, open: () => Promise<Session>): Promise<Session> {
    const opening = this.#opening.get(key) ?? open();
    this.#opening.set(key, opening);
    return opening.finally(() => this.#opening.delete(key));
  }

  async #findOrOpenDefault(caller: Caller): Promise<Session> {
    const of = { agent: caller.id, ...DEFAULT_CLIENT };
    const found = await findOpenSession(this.#services.ledger, of);
    return found ? publicOf(found) : await this.open({}, caller);
  }

  #rootOf(given: string | undefined): string {
    const { roots } = this.#services;
    const root = given ?? roots[0];
    if (root !== undefined && roots.includes(root)) return root;
    const message = `Cannot open a session in "${given}": it is not a folder of this project; ` +
      `use one of: ${roots.join(", ")}`;
    throw new GateError("invalid", message);
  }
}

function actorOf(caller: Caller) {
  return { kind: caller.scope === "agent" ? "agent" as const : "reviewer" as const, id: caller.id };
}

function publicOf({ seq: _seq, ...session }: SessionRow): Session {
  return session;
}

/** Removes the characters that SQLite cannot store. Agents choose the names. */
function plain(name: string): string {
  return name.replaceAll("\0", "").toWellFormed();
}
