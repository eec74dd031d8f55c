import { createHash } from "node:crypto";
import type { Database } from "../db/database.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { Challenges } from "./challenges.ts";
import { faultOfDeed } from "./deed_check.ts";
import { digestOf } from "./digest.ts";
import { changeAsked, verbOfChange } from "./history.ts";
import { HomeChanges } from "./home_changes.ts";
import { type Passkey, Passkeys } from "./passkeys.ts";
import { publicKeyOf } from "./public_key.ts";
import { checkRecord, signedBy } from "./record_check.ts";
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
import { faultInLedger } from "./fault_in_ledger.ts";
import { NATIVE } from "./signature.ts";
import { findCounter, updateCounter } from "./store.ts";
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
  /** Whether the daemon runs with `--auth none`: then a home without a key needs no proof. */
  open?: boolean;
  /** The hash of the list of accepted configs, which a change of the proof seals. */
  seal?: (state: Pick<ProofStatus, "kind" | "problem">) => Promise<string | null>;
}

/** The caller who asks for a deed, with the proof in the request. */
export interface Decider {
  scope: string;
  member_id: string | null;
  via: "token" | "page" | "none";
  proof: Proof | null;
}

/** The deed that a proof has to permit. */
export type Deed = Pick<Challenge, "verb" | "project_id" | "action_id" | "digest" | "head">;

/** Checks the proof in an event of the log. Resolves to why it does not count; null if it does. */
export type EventCheck = (event: AuditEvent, edit: AuditEvent | null) => Promise<string | null>;

/** Asks for a person's proof. */
export type RequireProof = (caller: Decider, deed: Deed) => Promise<ProofRecord | null>;

const MAX_WRONG = 10;
const PAUSE_MS = 60_000;
const HOW_TO_ENROL = 'run "gate proof set" in a terminal or open "gate dashboard"; ' +
  'or decide with the reviewer\'s token: "approvals": {"proof": "token"} in the global config';

/** A person's proof of a decision: enrols keys, issues challenges and checks the answers. */
export class Proofs {
  readonly #services: ProofServices;
  readonly #challenges: Challenges;
  readonly #passkeys: Passkeys;
  readonly #home: HomeChanges;
  #turn: Promise<unknown> = Promise.resolve();
  #wrong: number[] = [];

  private constructor(services: ProofServices, home: HomeChanges) {
    const { now, uptime = () => performance.now() } = services.environment;
    const clocks = { now, elapsed: uptime };
    this.#services = services;
    this.#home = home;
    this.#challenges = new Challenges(clocks);
    this.#passkeys = new Passkeys(clocks, services.port);
  }

  /** Reads what is enrolled. A home without a key whose config says `token` records that choice. */
  static async open(services: ProofServices): Promise<Proofs> {
    return new Proofs(services, await HomeChanges.open(services));
  }

  /** The kind of proof, the enrolled keys, and why nothing can be decided. */
  async status(): Promise<ProofStatus> {
    const { kind, changes, problem } = await this.#inTurn(() => this.#home.state());
    const key = changes.at(-1)?.key;
    const unlock_seconds = this.#services.unlock_seconds();
    const open = this.#services.open === true && (kind === "none" || kind === "token");
    return { kind, enrolled: key ? [key] : [], problem, unlock_seconds, open };
  }

  /** The kind of proof that gate.db names. */
  get kind(): ProofKind {
    return this.#home.kind;
  }

  /** The list of the configs that were accepted before the newest change. */
  get sealed_sha256(): string | null {
    return this.#home.changes.at(-1)?.accepted_sha256 ?? null;
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
    const key = this.#home.changes.find((change) => change.key?.key_id === key_id)?.key;
    return key ? await checkRecord(record, key, NATIVE) === null : false;
  }

  /**
   * The proof that permits this deed; null where none is asked. @throws GateError `proof_required`
   * with a challenge to sign, or with the way to enrol; `rate_limited` after many wrong proofs
   */
  require: RequireProof = async (caller, deed) => {
    if (caller.via === "none") return null;
    return await this.#inTurn(async () => {
      const { kind, changes, problem } = await this.#home.state();
      if (problem !== null) throw required(deed, problem);
      if (kind === "token") return this.#allowToken(deed);
      const key = changes.at(-1)?.key;
      if (!key) throw required(deed, `no proof is set up; ${HOW_TO_ENROL}`);
      return await this.#prove(caller, deed, key);
    });
  };

  /** The check of recorded decisions by the keys of this home; null where no proof is needed. */
  async eventCheck(): Promise<EventCheck | null> {
    const { kind, changes, problem } = await this.#inTurn(() => this.#home.state());
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
          await checkRecord(record, key, NATIVE) ??
          await faultInLedger(this.#home.ledgerOf(event.project_id), event, record);
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
    await this.#inTurn(() => this.#home.attach(ledger));
  }

  /** Forgets a ledger that closes. */
  detach(project_id: string): void {
    this.#home.detach(project_id);
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
    if (proof.kind === "passphrase" || record.kind === "passphrase") return true;
    const { registry } = this.#services;
    const { key_id, public_key } = key;
    const challenge = await signedBy(record, NATIVE);
    if (challenge === null) return false;
    const counter = await findCounter(registry, key_id);
    const next = await this.#passkeys.check(proof, { key_id, public_key, counter }, challenge);
    if (next === null) return false;
    if (next > counter) await updateCounter(registry, { key_id, counter: next });
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
    const { environment, seal } = this.#services;
    const verb = verbOfChange(kind);
    const deed = { verb, project_id: null, action_id: null, head: null };
    const state = await this.#home.state();
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
    this.#challenges.clear();
    await this.#home.replace([...state.changes, change], counter);
  }

  /** Runs one task at a time: no decision overtakes a change of the proof. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => {});
    return run;
  }
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
