import { createHash } from "node:crypto";
import type { Database } from "../db/database.ts";
import type { Ledger, NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { Challenges } from "./challenges.ts";
import { faultOfDeed } from "./deed_check.ts";
import { digestOf } from "./digest.ts";
import { changeAsked, compareHistories, History, verbOfChange } from "./history.ts";
import { markOf, type Memory, readMemories } from "./ledger_changes.ts";
import { type Passkey, Passkeys } from "./passkeys.ts";
import { publicKeyOf } from "./public_key.ts";
import { checkRecord } from "./record_check.ts";
import {
  type Challenge,
  type EnrolledKey,
  type Proof,
  ProofChange,
  type ProofKind,
  ProofRecord,
  type ProofStatus,
  type SetProofInput,
} from "./schema.ts";
import { NATIVE } from "./signature.ts";
import { statementOf } from "./statement.ts";
import {
  findCounter,
  findStart,
  insertTokenStart,
  listChanges,
  listLedgerChanges,
  replaceChanges,
  setMark,
  updateCounter,
} from "./store.ts";
import { VERB_TEXTS } from "./verb_texts.ts";

export interface ProofServices {
  environment: Environment;
  registry: Database;
  /** The daemon's port: a passkey answers only for pages at this address. */
  port: number;
  /** `approvals.proof` of the global config at this moment; null when it is absent or unreadable. */
  configured: () => "token" | "passphrase" | "passkey" | null;
  /** `approvals.unlock_seconds` of the global config at this moment; null without a limit. */
  unlock_seconds: () => number | null;
  /** Whether the daemon runs with `--auth none`: then no proof is asked on a home without a key. */
  open?: boolean;
  /** The hash of the list of accepted configs, which a change of the proof seals. */
  seal?: (state: Pick<ProofStatus, "kind" | "problem">) => Promise<string | null>;
}

/** Whoever asks for a deed, with the proof that came along. */
export interface Decider {
  scope: string;
  member_id: string | null;
  via: "token" | "page" | "none";
  proof: Proof | null;
}

/** The deed that a proof has to permit. */
export type Deed = Pick<Challenge, "verb" | "project_id" | "action_id" | "digest" | "head">;

/** Why the proof in an event of the log does not count; null if it does. */
export type Judge = (event: AuditEvent, edit: AuditEvent | null) => Promise<string | null>;

/** Asks for a person's proof. */
export type RequireProof = (caller: Decider, deed: Deed) => Promise<ProofRecord | null>;

const MAX_WRONG = 10;
const PAUSE_MS = 60_000;
const HOW_TO_ENROL = 'run "gate proof set" in a terminal or open "gate dashboard"; ' +
  'or decide with the reviewer\'s token: "approvals": {"proof": "token"} in the global config';

/** What decides on this home now. */
interface State {
  kind: ProofKind;
  /** The changes that led here: of gate.db, or of the ledgers when gate.db has lost them. */
  changes: readonly ProofChange[];
  problem: string | null;
  /** Whether a proof with the key may still replace the key: it is certain whose it is. */
  is_certain: boolean;
}

/** A person's proof of a decision: enrols keys, issues challenges and checks the answers. */
export class Proofs {
  readonly #services: ProofServices;
  readonly #challenges: Challenges;
  readonly #passkeys: Passkeys;
  #start: "none" | "token";
  #changes: readonly ProofChange[] = [];
  /** Why gate.db's own changes cannot be trusted; null if they can. */
  #damage: string | null = null;
  /** The open ledgers. Each gets every change. */
  readonly #ledgers = new Map<string, Ledger>();
  /** What ledgers remember that gate.db does not know. */
  readonly #strange = new Map<string, unknown[]>();
  #seen: Promise<void> | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #wrong: number[] = [];

  private constructor(services: ProofServices, start: "none" | "token") {
    const { now, uptime = () => performance.now() } = services.environment;
    const clocks = { now, elapsed: uptime };
    this.#services = services;
    this.#start = start;
    this.#challenges = new Challenges(clocks);
    this.#passkeys = new Passkeys(clocks, services.port);
  }

  /** Reads what is enrolled. A home without a key whose config says `token` records that choice. */
  static async open(services: ProofServices): Promise<Proofs> {
    const { registry } = services;
    const proofs = new Proofs(services, await findStart(registry));
    const { changes, fault } = await readHistory(await listChanges(registry));
    proofs.#changes = changes;
    proofs.#damage = fault;
    await proofs.#adoptToken();
    return proofs;
  }

  /** The kind of proof, the enrolled keys, and why nothing can be decided. */
  async status(): Promise<ProofStatus> {
    const { kind, changes, problem } = await this.#inTurn(() => this.#state());
    const key = changes.at(-1)?.key;
    const unlock_seconds = this.#services.unlock_seconds();
    const open = this.#services.open === true && (kind === "none" || kind === "token");
    return { kind, enrolled: key ? [key] : [], problem, unlock_seconds, open };
  }

  /** The kind of proof that gate.db names. */
  get kind(): ProofKind {
    return this.#changes.at(-1)?.kind ?? this.#start;
  }

  /** The list of the configs that were accepted before the newest change. */
  get sealed_sha256(): string | null {
    return this.#changes.at(-1)?.accepted_sha256 ?? null;
  }

  /** Whether a stored proof permits this deed, by a key that is or was enrolled here. */
  async isValid(
    record: ProofRecord,
    { verbs, project_id, digest }: {
      verbs: readonly Deed["verb"][];
      project_id: string | null;
      digest: string;
    },
  ): Promise<boolean> {
    const { challenge, key_id } = record;
    if (!verbs.includes(challenge.verb) || challenge.project_id !== project_id) return false;
    if (challenge.digest !== digest) return false;
    const key = this.#changes.find((change) => change.key?.key_id === key_id)?.key;
    return key ? await checkRecord(record, key, NATIVE) === null : false;
  }

  /**
   * The proof that permits this deed; null where none is asked. @throws GateError `proof_required`
   * with a challenge to sign, or with the way to enrol; `rate_limited` after many wrong proofs
   */
  require: RequireProof = async (caller, deed) => {
    if (caller.via === "none") return null;
    return await this.#inTurn(async () => {
      const { kind, changes, problem } = await this.#state();
      if (problem !== null) throw required(deed, problem);
      if (kind === "token") return this.#allowToken(deed);
      const key = changes.at(-1)?.key;
      if (!key) throw required(deed, `no proof is set up; ${HOW_TO_ENROL}`);
      return await this.#prove(caller, deed, key);
    });
  };

  /**
   * How the log of a decision is judged now. Null where no proof is asked; otherwise why the proof
   * of an event does not count: its key, or the deed that it permits.
   */
  async judge(): Promise<Judge | null> {
    const { kind, changes, problem } = await this.#inTurn(() => this.#state());
    if (problem !== null) return () => Promise.resolve(problem);
    const wanted = this.#services.configured() ?? "token";
    const isFree = kind === "token" || (kind === "none" && this.#services.open === true);
    if (isFree && (wanted === "token" || this.#services.open === true)) return null;
    const keys = changes.flatMap(({ key }) => key ?? []);
    return async (event, edit) => {
      try {
        const record = ProofRecord.parse(event.data.proof);
        const key = keys.find(({ key_id }) => key_id === record.key_id);
        if (!key) return "no key of this home signed it";
        return await faultOfDeed(event, record, edit, NATIVE) ??
          await checkRecord(record, key, NATIVE);
      } catch {
        return "it has no proof";
      }
    };
  }

  /** The options with which a page creates a passkey. */
  async passkeyOptions(caller: Decider) {
    return await this.#passkeys.begin(personOf(caller));
  }

  /**
   * Enrols a key, or lets the reviewer's token decide. A key that is enrolled has to prove it.
   * @throws GateError `proof_required`, `invalid`
   */
  async set(caller: Decider, input: SetProofInput): Promise<ProofStatus> {
    const member_id = personOf(caller);
    const { key, counter } = await this.#keyOf(input, member_id);
    await this.#inTurn(() => this.#change(caller, input.kind, key, counter));
    if (input.kind === "passkey") this.#passkeys.end(input.registration);
    return await this.status();
  }

  /** Removes what is enrolled. @throws GateError `proof_required`; `conflict` when there is nothing */
  async remove(caller: Decider): Promise<ProofStatus> {
    await this.#inTurn(() => this.#change(caller, "none", null, null));
    return await this.status();
  }

  /** Brings a ledger that has just opened up to date, or notes that it remembers another proof. */
  async attach(ledger: Ledger): Promise<void> {
    await this.#inTurn(async () => {
      this.#ledgers.set(ledger.project_id, ledger);
      await this.#compare(ledger);
    });
  }

  /** Forgets a ledger that closes. */
  detach(project_id: string): void {
    this.#ledgers.delete(project_id);
  }

  async #state(): Promise<State> {
    this.#seen ??= this.#lookAround();
    await this.#seen;
    await this.#adoptToken();
    const known = { kind: this.kind, changes: this.#changes };
    if (this.#damage === null && this.#strange.size === 0) {
      return { ...known, problem: null, is_certain: true };
    }
    const remembered = await this.#remembered();
    const names = [...this.#strange.keys()].map((id) => `"${id}"`).join(", ");
    const cause = this.#damage !== null
      ? `gate.db's record of the proof was changed: ${this.#damage}`
      : `the audit log of ${names} remembers a proof that gate.db does not know: gate.db was ` +
        "deleted, replaced or changed, or these logs come from elsewhere";
    const problem = remembered
      ? `${cause}; take the home back with "gate proof change" and the passphrase or passkey ` +
        "that was enrolled"
      : `${cause}; stop the daemon and put gate.db or the logs in projects/ back: move gate.db ` +
        "away to let gate take the proof from the logs, or move a foreign log's folder away";
    return remembered
      ? { kind: remembered.at(-1)!.kind, changes: remembered, problem, is_certain: true }
      : { ...known, problem, is_certain: false };
  }

  /**
   * The one history that the ledgers agree on, when it continues what gate.db still has. Null when
   * they disagree, because then nobody can tell whose key is the right one.
   */
  async #remembered(): Promise<readonly ProofChange[] | null> {
    let longest: readonly ProofChange[] = this.#damage === null ? this.#changes : [];
    for (const values of this.#strange.values()) {
      const { changes, fault } = await readHistory(values);
      if (fault !== null) return null;
      const relation = compareHistories(changes, longest);
      if (relation === "other") return null;
      if (relation === "longer") longest = changes;
    }
    return longest.length > 0 ? longest : null;
  }

  #allowToken(deed: Deed): null {
    const wanted = this.#services.configured();
    if (wanted === null || wanted === "token") return null;
    // The config asks for more than what is set up: it holds at once.
    throw required(deed, `the config asks for a ${wanted}, and none is enrolled; ${HOW_TO_ENROL}`);
  }

  async #prove(caller: Decider, deed: Deed, key: EnrolledKey): Promise<ProofRecord> {
    const member_id = personOf(caller);
    const ask = (why: string) => {
      const challenge = member_id === key.member_id
        ? this.#challenges.create({ ...deed, member_id })
        : undefined;
      return required(deed, challenge ? why : "only the person who enrolled can decide", challenge);
    };
    const { proof } = caller;
    if (proof === null) {
      throw ask(
        `a person must prove it with the ${key.kind}; sign the challenge and send it again`,
      );
    }
    const challenge = this.#challenges.use(proof.nonce);
    if (challenge === null) {
      throw ask("its challenge was used or has expired; sign the new one and send it again");
    }
    const record = toRecord(proof, challenge);
    if (isFor(challenge, { ...deed, member_id }) && await this.#isRight(proof, record, key)) {
      return record;
    }
    this.#noteWrong();
    throw ask("the proof does not fit; sign the new challenge and send it again");
  }

  async #isRight(proof: Proof, record: ProofRecord, key: EnrolledKey): Promise<boolean> {
    if (await checkRecord(record, key, NATIVE) !== null) return false;
    if (proof.kind === "passphrase") return true;
    const { registry } = this.#services;
    const { key_id, public_key } = key;
    const statement = createHash("sha256").update(statementOf(record.challenge));
    const known = { key_id, public_key, counter: await findCounter(registry, key_id) };
    const counter = await this.#passkeys.check(proof, known, statement.digest("base64url"));
    if (counter === null) return false;
    if (counter > 0) await updateCounter(registry, { key_id, counter });
    return true;
  }

  /** The pause after wrong proofs never rejects a right one, so nobody can lock a person out. */
  #noteWrong(): void {
    const { log } = this.#services.environment;
    const now = performance.now();
    this.#wrong = this.#wrong.filter((at) => at > now - PAUSE_MS);
    log("warn", "a wrong proof was sent", { in_the_last_minute: this.#wrong.length + 1 });
    if (this.#wrong.length >= MAX_WRONG) {
      throw new GateError(
        "rate_limited",
        "Cannot check the proof: too many wrong ones came; wait a minute and try again",
      );
    }
    this.#wrong.push(now);
  }

  async #keyOf(
    input: SetProofInput,
    member_id: string,
  ): Promise<{ key: EnrolledKey | null; counter: Passkey | null }> {
    if (input.kind === "token") return { key: null, counter: null };
    const created_at = new Date(this.#services.environment.now()).toISOString();
    if (input.kind === "passphrase") {
      const { kind, public_key, salt, scrypt } = input;
      if (publicKeyOf({ kind, public_key }) === null || !isCanonical(salt)) {
        throw new GateError("invalid", "Cannot enrol the key: it is no Ed25519 key with its salt");
      }
      const key_id = createHash("sha256").update(Buffer.from(public_key, "base64url"))
        .digest("base64url");
      const key = { key_id, kind, member_id, public_key, salt, scrypt, created_at };
      return { key, counter: null };
    }
    const passkey = await this.#passkeys.register(input.registration);
    const { key_id, public_key } = passkey;
    const shared = { key_id, member_id, public_key, created_at };
    return { key: { ...shared, kind: input.kind, salt: null, scrypt: null }, counter: passkey };
  }

  async #change(
    caller: Decider,
    kind: ProofChange["kind"],
    key: EnrolledKey | null,
    counter: Passkey | null,
  ): Promise<void> {
    const { registry, environment, seal } = this.#services;
    const verb = verbOfChange(kind);
    const deed = { verb, project_id: null, action_id: null, head: null };
    const state = await this.#state();
    const asked: Deed = { ...deed, digest: digestOf(changeAsked(kind, key)) };
    if (!state.is_certain) throw required(asked, state.problem!);
    const last = state.changes.at(-1);
    if (kind === "none" && state.kind === "none") {
      throw new GateError("conflict", "Cannot remove the proof: none is set up");
    }
    const proof = last?.key ? await this.#prove(caller, asked, last.key) : null;
    const change = ProofChange.parse({
      number: state.changes.length + 1,
      kind,
      key,
      member_id: personOf(caller),
      at: new Date(environment.now()).toISOString(),
      before: { kind: state.kind, key_id: last?.key?.key_id ?? null },
      accepted_sha256: await seal?.(state) ?? null,
      previous_sha256: last ? digestOf(last) : null,
      proof,
    });
    const changes = [...state.changes, change];
    await replaceChanges(registry, changes, counter);
    await environment.fault?.("proof changed");
    this.#changes = changes;
    this.#damage = null;
    this.#strange.clear();
    this.#seen = null;
    this.#challenges.clear();
    for (const ledger of this.#ledgers.values()) await this.#tell(ledger);
  }

  /** A ledger that fails to take the change gets it at its next opening. */
  async #tell(ledger: Ledger): Promise<void> {
    try {
      await this.#compare(ledger);
    } catch (error) {
      const { project_id } = ledger;
      const { log } = this.#services.environment;
      log("error", "Cannot record the change of the proof", { project_id, error: String(error) });
    }
  }

  /** Appends the changes that a ledger lacks. One that remembers anything else is noted. */
  async #compare(ledger: Ledger): Promise<void> {
    const { project_id } = ledger;
    const found = await listLedgerChanges(ledger, project_id);
    const relation = compareHistories(found as ProofChange[], this.#changes);
    if (relation === "same" || relation === "shorter") {
      this.#strange.delete(project_id);
      if (this.#damage !== null) return;
      const events = this.#changes.slice(found.length).map(toEvent);
      const last = this.#changes.at(-1);
      if (!last || events.length === 0) return;
      await ledger.commit({ statements: [setMark(markOf(last))], events });
      return;
    }
    this.#noteStrange({ project_id, changes: found });
  }

  /** Compares with every ledger that is not open, once in the life of a daemon. */
  async #lookAround(): Promise<void> {
    const { home } = this.#services.environment;
    const known = { projects: this.#ledgers, marks: new Set(this.#changes.map(markOf)) };
    for await (const memory of readMemories(home, known)) {
      const relation = compareHistories(memory.changes as ProofChange[], this.#changes);
      if (relation === "longer" || relation === "other") this.#noteStrange(memory);
    }
  }

  #noteStrange({ project_id, changes }: Memory): void {
    const { log } = this.#services.environment;
    log("error", "an audit log remembers a proof that gate.db does not know", { project_id });
    this.#strange.set(project_id, changes);
  }

  async #adoptToken(): Promise<void> {
    const { registry, configured } = this.#services;
    const isOpen = this.#changes.length === 0 && this.#damage === null;
    if (!isOpen || this.#start === "token" || configured() !== "token") return;
    await insertTokenStart(registry);
    this.#start = "token";
  }

  /** Runs one task at a time: no decision overtakes a change of the proof. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => {});
    return run;
  }
}

async function readHistory(
  values: readonly unknown[],
): Promise<{ changes: ProofChange[]; fault: string | null }> {
  const history = new History(NATIVE);
  for (const [index, value] of values.entries()) {
    const { success, data, error } = ProofChange.safeParse(value);
    const fault = success ? await history.add(data) : error.issues[0]!.message;
    if (fault !== null) return { changes: history.changes, fault: `change ${index + 1}: ${fault}` };
  }
  return { changes: history.changes, fault: null };
}

function toEvent(change: ProofChange): NewEvent {
  return {
    session_id: null,
    action_id: null,
    type: "proof.changed",
    actor: { kind: "reviewer", id: change.member_id },
    data: { ...change },
  };
}

function toRecord(proof: Proof, challenge: Challenge): ProofRecord {
  const { nonce: _, ...answer } = proof;
  return { ...answer, challenge };
}

function isFor(challenge: Challenge, deed: Omit<Deed, "head"> & { member_id: string }): boolean {
  return challenge.verb === deed.verb && challenge.project_id === deed.project_id &&
    challenge.action_id === deed.action_id && challenge.digest === deed.digest &&
    challenge.member_id === deed.member_id;
}

/** @throws GateError `forbidden`, because only a person enrols and decides */
function personOf({ scope, member_id }: Decider): string {
  if (scope === "reviewer" && member_id !== null) return member_id;
  throw new GateError("forbidden", "Cannot prove a decision: only a reviewer can");
}

function isCanonical(text: string): boolean {
  return Buffer.from(text, "base64url").toString("base64url") === text;
}

function required({ verb }: Deed, cause: string, challenge?: Challenge): GateError {
  const message = `Cannot ${VERB_TEXTS[verb]}: ${cause}`;
  return new GateError("proof_required", message, { fields: challenge ? { challenge } : {} });
}
