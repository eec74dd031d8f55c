import { isAbsolute } from "node:path";
import type { Caller } from "../auth/schema.ts";
import { createSecret, hexDigestOf, isSameText } from "../auth/secrets.ts";
import type { Environment } from "../environment.ts";
import { DEFAULT_LIMIT, readCursor, toPage } from "../db/cursor.ts";
import type { Ledger, NewEvent } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { createGrowingCache } from "../growing_cache.ts";
import type { Blocks } from "../remediation/blocks.ts";
import { isSameProcess } from "../runtime/processes.ts";
import { branchOf } from "../runtime/git_folder.ts";
import { elsewhere, requireHere } from "../db/elsewhere.ts";
import type { HostKey } from "./host_key.ts";
import type {
  ActionOutcome,
  ListedSession,
  OpenedSession,
  Session,
  SessionInput,
  SessionList,
  SessionQuery,
  SessionStatusView,
} from "./schema.ts";
import {
  endSession,
  findKnown,
  findProof,
  findSession,
  findSessionOfSecret,
  findSharedSession,
  insertSession,
  type KnownSession,
  listActionStates,
  listSessions,
  type OutcomeRow,
  type SessionProof,
  type SessionRow,
  summarizeActions,
  toSession,
} from "./store.ts";

export interface SessionServices {
  environment: Environment;
  ledger: Ledger;
  /** Real paths of the project's folders; never empty, the first is the main one. */
  roots: readonly string[];
  /** Makes the secrets of the sessions that hosts name in their hooks. */
  host_key: HostKey;
  /** A session may work in any folder, because the ledger belongs to no project. */
  in_any_folder?: boolean;
  blocks: Pick<Blocks, "reasonOf">;
  /** Records in another project's ledger that its agent begins to work here. @throws GateError */
  visit: (home_project: string, event: NewEvent) => Promise<void>;
  /** Counts a new session. @throws GateError `rate_limited` if agents have added too much */
  admit: () => Promise<void>;
}

/** The fields of the session that all callers share who submit without opening one. */
const SHARED_CLIENT = { host: "unknown", client: "none" };

/** An open session without an action for this long is idle. */
const IDLE_MS = 15 * 60_000;

const MAX_SECRETS = 1_000;
const MAX_OPEN = 1_000;

/** An open session without what its actions change. */
export type OpenSession = Omit<KnownSession, "seq"> & Pick<Session, "block_reason">;

/** The connections of agents to one project. */
export class Sessions {
  readonly #services: SessionServices;
  readonly #opening = new Map<string, Promise<OpenSession>>();
  /**
   * The open sessions that were used. This process alone writes the ledger, and of these fields only
   * `end` ever changes one. Blocks are asked for each time.
   */
  readonly #open = createGrowingCache<Omit<OpenSession, "block_reason">>(MAX_OPEN);
  /** The ids of the open sessions that hosts named, by the digest of their secret. */
  readonly #joined = createGrowingCache<string>(MAX_OPEN);
  /** Counts the ends, so that a session that was read before its end is not kept after it. */
  #ends = 0;
  /** The digests of the secrets that agents have sent, by session. A session keeps its secret. */
  readonly #secrets = new Map<string, string>();

  constructor(services: SessionServices) {
    this.#services = services;
  }

  /** Opens a session in a root of the project, by default the main one, with a new secret. */
  async open(input: SessionInput, caller: Caller): Promise<OpenedSession> {
    const session_secret = createSecret(256);
    return { ...await this.#insert(input, caller, hexDigestOf(session_secret)), session_secret };
  }

  async #insert(
    input: SessionInput,
    caller: Caller,
    secret_sha256: string | null,
  ): Promise<Session> {
    const { environment, ledger, admit } = this.#services;
    if (caller.scope === "agent") await admit();
    const folder = this.#rootOf(input.root);
    const session = {
      id: environment.id(),
      project_id: ledger.project_id,
      root: folder,
      branch: branchOf(folder),
      host: plain(input.host ?? SHARED_CLIENT.host),
      agent: plain(input.agent ?? caller.id),
      client: plain(input.client ?? SHARED_CLIENT.client),
      started_at: new Date(environment.now()).toISOString(),
      secret_sha256,
      process: input.process ?? null,
      machine: ledger.machine?.id ?? null,
      home_project: input.home_project === ledger.project_id ? null : input.home_project ?? null,
    };
    const { host, agent, client, root, home_project } = session;
    if (home_project !== null) {
      await this.#services.visit(home_project, {
        session_id: null,
        action_id: null,
        type: "session.started",
        actor: actorOf(caller),
        data: { project: ledger.project_id, session: session.id, host, agent, client, root },
      });
    }
    const { rows } = await ledger.commit({
      statements: [insertSession(session)],
      events: [{
        session_id: session.id,
        action_id: null,
        type: "session.started",
        actor: actorOf(caller),
        data: {
          ...{ host, agent, client, root, detected_by: input.detected_by ?? null },
          ...home_project !== null && { home_project },
        },
      }],
    });
    return await this.#checked(toSession(rows[0]![0]!));
  }

  /**
   * The session for an action: the named one, which must be open, else the one whose secret the
   * caller sent, else the session that all callers without one share. Opens that if necessary.
   * @throws GateError `not_found`, `conflict`
   */
  async resolve(id: string | undefined, caller: Caller): Promise<OpenSession> {
    if (id === undefined) {
      return caller.session_secret === undefined
        ? await this.#shared(caller)
        : await this.#ofSecret(caller.session_secret);
    }
    const known = this.#open.get(id);
    if (known) return await this.withBlock(known);
    const ends = this.#ends;
    const found = id.includes("\0") ? null : await findKnown(this.#services.ledger, id);
    if (found === null) throw unknown(id);
    await requireHere(this.#services.ledger, id, `use session "${id}"`);
    const session = await this.#known(found);
    if (session.ended_at === null) {
      if (ends === this.#ends) this.#open.set(id, unchanging(session));
      return session;
    }
    throw new GateError("conflict", `Cannot use session "${id}": it has ended; open a new one`);
  }

  /**
   * The open session that a host names by its own id in a root. Opens one if necessary. Only a caller
   * that knows the host's id reaches it: its secret is made of that id and of this machine's key.
   */
  join(
    { named, ...input }:
      & Required<Omit<SessionInput, "process" | "home_project">>
      & Pick<SessionInput, "home_project">
      & { named: string },
    caller: Caller,
  ): Promise<OpenSession> {
    const { ledger, host_key, in_any_folder } = this.#services;
    // An agent that changes its folder stays in its session.
    const root = in_any_folder ? "" : input.root;
    const { home_project } = input;
    const parts = [input.host, ledger.project_id, root, named];
    const isAtHome = home_project === undefined || home_project === ledger.project_id;
    const secret = host_key.secretOf(isAtHome ? parts : [...parts, home_project]);
    const digest = hexDigestOf(secret);
    return this.#once(digest, async () => {
      const known = this.#open.get(this.#joined.get(digest) ?? "");
      if (known) return await this.withBlock(known);
      const ends = this.#ends;
      const found = await findSessionOfSecret(ledger, digest);
      const session = found ? await this.#known(found) : await this.#insert(input, caller, digest);
      if (ends === this.#ends) {
        this.#open.set(session.id, unchanging(session));
        this.#joined.set(digest, session.id);
      }
      return session;
    });
  }

  /** The same session with the block that it has now. */
  async withBlock<T extends Pick<Session, "id" | "agent">>(
    session: T,
  ): Promise<T & Pick<Session, "block_reason">> {
    return { ...session, block_reason: await this.#blockOf(session) };
  }

  /**
   * Whether the caller may act in a session. People may. An agent must send the session's secret.
   * A session that every caller shares has none, and takes no caller that sends another's.
   */
  async isOpenTo(
    caller: Caller,
    which: { of: "session" | "action"; id: string },
  ): Promise<boolean> {
    if (caller.scope !== "agent") return true;
    if (which.id.includes("\0")) return false;
    const { session_secret } = caller;
    const digest = session_secret === undefined ? null : hexDigestOf(session_secret);
    const known = which.of === "session" ? this.#secrets.get(which.id) : undefined;
    if (digest !== null && known !== undefined && isSameText(digest, known)) return true;
    const proof = await findProof(this.#services.ledger, which);
    if (proof === null || await elsewhere(this.#services.ledger, proof.id) !== null) return false;
    if (proof.secret_sha256 === null) return digest === null && isShared(proof);
    if (digest === null) return false;
    if (!isSameText(digest, proof.secret_sha256)) return await this.#succeeds(proof, digest);
    if (this.#secrets.size >= MAX_SECRETS) this.#secrets.clear();
    this.#secrets.set(proof.id, digest);
    return true;
  }

  /**
   * Whose session it is: its host, the process that opened it, and whether the host calls it by an id
   * of its own. Null for an unknown session.
   */
  async holderOf(id: string) {
    const { ledger, host_key, in_any_folder } = this.#services;
    const proof = await findProof(ledger, { of: "session", id });
    if (proof === null) return null;
    const { host, root, secret_sha256 } = proof;
    const isOf = (named: string) => {
      const parts = [host, ledger.project_id, in_any_folder ? "" : root, named];
      return secret_sha256 !== null &&
        isSameText(hexDigestOf(host_key.secretOf(parts)), secret_sha256);
    };
    return { host, pid: proof.process?.pid ?? null, isOf };
  }

  /** Ends a session. Idempotent. */
  async end(id: string, caller: Caller): Promise<Session> {
    const { environment, ledger } = this.#services;
    const session = await this.get(id);
    await requireHere(ledger, id, `end session "${id}"`);
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
    }).finally(() => {
      this.#ends++;
      this.#open.delete(id);
    });
    return await this.get(id);
  }

  /** @throws GateError `not_found` */
  async get(id: string): Promise<Session> {
    const found = id.includes("\0") ? null : await findSession(this.#services.ledger, id);
    if (found) return await this.#checked(found);
    throw unknown(id);
  }

  /** A session as lists show it. @throws GateError `not_found` */
  async show(id: string): Promise<ListedSession> {
    return await this.#listed(await this.get(id));
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
    const idle_at = new Date(this.#services.environment.now() - IDLE_MS).toISOString();
    const page = { before, limit: limit + 1, idle_at };
    const rows = await listSessions(this.#services.ledger, query, page);
    const { items, next_cursor } = toPage(rows, limit);
    const listed = items.map(async (one) => await this.#listed(await this.#checked(one)));
    return { items: await Promise.all(listed), next_cursor };
  }

  async #listed(session: Session): Promise<ListedSession> {
    const { ledger, environment } = this.#services;
    const { first_action, newest } = await summarizeActions(ledger, session.id);
    const isIdle = Date.parse(session.last_seen_at) < environment.now() - IDLE_MS;
    return {
      ...session,
      state: session.ended_at !== null ? "ended" : isIdle ? "idle" : "open",
      first_action,
      outcomes: newest.map(outcomeOf),
    };
  }

  /**
   * Whether the session with this secret continues the other one, whose process died without ending
   * it: a later process of the same host in the same folder.
   */
  async #succeeds(left: SessionProof, digest: string): Promise<boolean> {
    if (left.ended_at !== null || left.process === null || isSameProcess(left.process)) {
      return false;
    }
    const own = await findProof(this.#services.ledger, { of: "secret", id: digest });
    return own !== null && own.process !== null && isSameProcess(own.process) &&
      own.host === left.host && own.agent === left.agent && own.root === left.root &&
      own.started_at > left.last_seen_at;
  }

  async #ofSecret(secret: string): Promise<OpenSession> {
    const found = await findSessionOfSecret(this.#services.ledger, hexDigestOf(secret));
    if (found) return await this.#known(found);
    throw new GateError(
      "not_found",
      "Cannot find the session of this X-Gate-Session: it is unknown or has ended; open a new one",
    );
  }

  async #checked({ seq: _seq, ...session }: SessionRow): Promise<Session> {
    return { ...session, block_reason: await this.#blockOf(session) };
  }

  async #known({ seq: _seq, ...session }: KnownSession): Promise<OpenSession> {
    return { ...session, block_reason: await this.#blockOf(session) };
  }

  async #blockOf({ id, agent }: Pick<Session, "id" | "agent">): Promise<string | null> {
    return await this.#services.blocks.reasonOf(id, agent);
  }

  #shared(caller: Caller): Promise<OpenSession> {
    return this.#once(caller.id, () => this.#findOrOpenShared(caller));
  }

  /** Concurrent calls with the same key share one opening. */
  #once(key: string, open: () => Promise<OpenSession>): Promise<OpenSession> {
    const opening = this.#opening.get(key) ?? open();
    this.#opening.set(key, opening);
    return opening.finally(() => this.#opening.delete(key));
  }

  async #findOrOpenShared(caller: Caller): Promise<OpenSession> {
    const of = { agent: caller.id, ...SHARED_CLIENT };
    const found = await findSharedSession(this.#services.ledger, of);
    return found ? await this.#known(found) : await this.#insert({}, caller, null);
  }

  #rootOf(given: string | undefined): string {
    const { roots, in_any_folder } = this.#services;
    const root = given ?? roots[0];
    if (root !== undefined && roots.includes(root)) return root;
    if (in_any_folder && root !== undefined && isAbsolute(root) && !root.includes("\0")) {
      return root;
    }
    const message = `Cannot open a session in "${given}": it is not a folder of this project; ` +
      `use one of: ${roots.join(", ")}`;
    throw new GateError("invalid", message);
  }
}

function unknown(id: string): GateError {
  const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
  return new GateError(
    "not_found",
    `Cannot find session ${shown} in this project: it has none with this id`,
    { next: "gate session list" },
  );
}

function outcomeOf({ status, decided_by, execution }: OutcomeRow): ActionOutcome {
  if (status === "pending") return "held";
  if (status === "expired" || status === "cancelled") return "unused";
  if (status !== "approved") return status as ActionOutcome;
  if (execution === "failed" || execution === "unknown") return "failed";
  return decided_by === "policy" ? "allowed" : "approved";
}

function unchanging(session: OpenSession): Omit<OpenSession, "block_reason"> {
  const { id, project_id, root, host, agent, client, started_at, ended_at, home_project, branch } =
    session;
  return { id, project_id, root, host, agent, client, started_at, ended_at, home_project, branch };
}

/** Sessions of older releases have no secret either; only the shared one stays open to agents. */
function isShared({ host, client }: SessionProof): boolean {
  return host === SHARED_CLIENT.host && client === SHARED_CLIENT.client;
}

function actorOf(caller: Caller) {
  return { kind: caller.scope === "agent" ? "agent" as const : "reviewer" as const, id: caller.id };
}

/** Removes the characters that SQLite cannot store. Agents choose the names. */
function plain(name: string): string {
  return name.replaceAll("\0", "").toWellFormed();
}
