import { createHash } from "node:crypto";
import type { Database } from "../db/database.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { Challenges } from "./challenges.ts";
import { faultOfDeed } from "./deed_check.ts";
import { digestOf } from "./digest.ts";
import { changeAsked, History, keysOf, lastChange, verbOfChange } from "./history.ts";
import { HomeChanges, type ProofState } from "./home_changes.ts";
import { type LoginAsked, loginAsked } from "./invitation.ts";
import { Invitations } from "./invitations.ts";
import { type Passkey, Passkeys } from "./passkeys.ts";
import { publicKeyOf } from "./public_key.ts";
import { checkRecord, mayProve, signedBy } from "./record_check.ts";
import {
  type Challenge,
  type EnrolledKey,
  type Invited,
  type Proof,
  ProofChange,
  type ProofKind,
  ProofRecord,
  type ProofStatus,
  type ProofVerb,
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
  /** The role of a person in the team in force; null for a stranger. */
  role_of?: (member_id: string) => "viewer" | "reviewer" | "admin" | null;
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
  readonly #invitations: Invitations;
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
    this.#invitations = new Invitations(clocks.elapsed);
    this.#passkeys = new Passkeys(clocks, services.port);
  }

  /** Reads what is enrolled. A home without a key whose config says `token` records that choice. */
  static async open(services: ProofServices): Promise<Proofs> {
    return new Proofs(services, await HomeChanges.open(services));
  }

  /** The kind of proof, the enrolled keys (the home's first), and why nothing can be decided. */
  async status(member_id: string | null = null): Promise<ProofStatus> {
    const { kind, changes, problem } = await this.#inTurn(() => this.#home.state());
    const unlock_seconds = this.#services.unlock_seconds();
    const open = this.#services.open === true && (kind === "none" || kind === "token");
    return { kind, enrolled: keysOf(changes), problem, unlock_seconds, open, member_id };
  }

  /** The keys of people who have left the team, one line each, for a person to look at. */
  async problems(): Promise<string[]> {
    const { role_of } = this.#services;
    const { enrolled } = await this.status();
    const strangers = enrolled.filter(({ member_id, role }) =>
      role !== undefined && role_of?.(member_id) === null
    );
    return strangers.map(({ member_id }) =>
      `"${member_id}" has a key and is not in the team; gate proof remove --member ${member_id}`
    );
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
      if (kind === "none") throw required(deed, `no proof is set up; ${HOW_TO_ENROL}`);
      return await this.#prove(caller, deed, this.#keyOfCaller(caller, deed, changes));
    });
  };

  /**
   * Asks for the proof of a login link. Where a key is enrolled, the link's own key then permits the
   * member to set a key of theirs. @throws GateError `proof_required`
   */
  async invite(caller: Decider, asked: LoginAsked): Promise<void> {
    const deed = { verb: "issue_login" as const, project_id: null, action_id: null, head: null };
    const wanted = loginAsked(asked);
    const record = await this.require(caller, { ...deed, digest: digestOf(wanted) });
    const { member_id, role, invitation } = wanted;
    if (record && role && invitation) {
      this.#invitations.add(invitation, { member_id, role, record });
    }
  }

  /** @throws GateError `forbidden` unless this person has a key that decides now */
  async requireKeyOf(member_id: string): Promise<void> {
    const { kind, changes } = await this.#inTurn(() => this.#home.state());
    const hasKey = keysOf(changes).some((key) => key.member_id === member_id);
    if (hasKey && kind !== "none" && kind !== "token") return;
    const why = `"${member_id}" has no key; ${howToJoin(member_id)}`;
    throw new GateError("forbidden", `Cannot act as a member: ${why}`);
  }

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
        const ledger = this.#home.ledgerOf(event.project_id);
        return await faultOfDeed(event, record, edit, NATIVE) ??
          await checkRecord(record, key, NATIVE) ??
          await faultInLedger(ledger, event, record, endOf(changes, key));
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
   * Enrols the key of the home or the caller's own, or lets the reviewer's token decide. A key that
   * is enrolled has to prove it; a member's first key needs the login link that an admin proved.
   * @throws GateError `proof_required`, `invalid`, `forbidden`, `conflict`
   */
  async set(caller: Decider, input: SetProofInput): Promise<ProofStatus> {
    const member_id = personOf(caller);
    const { key, counter } = await this.#keyOf(input, member_id);
    const invited = "invited" in input ? input.invited : undefined;
    await this.#inTurn(async () => {
      const state = await this.#home.state();
      const holder = holderOf(state, member_id);
      if (holder === undefined) {
        this.#requireFirst(state, member_id);
        return await this.#change(caller, state, { kind: input.kind, key, counter });
      }
      if (key === null) {
        const why = "only the person of the home's key can let the token decide";
        throw new GateError("forbidden", `Cannot set the proof: ${why}`);
      }
      await this.#changeMember(caller, state, { holder, key, counter, invited });
    });
    if (input.kind === "passkey") this.#passkeys.end(input.registration);
    return await this.status(member_id);
  }

  /**
   * Removes the caller's key, or that of a member. @throws GateError `proof_required`; `conflict`
   * when there is none; `forbidden` unless an admin removes another person's
   */
  async remove(
    caller: Decider,
    { member_id = personOf(caller) }: { member_id?: string | undefined } = {},
  ): Promise<ProofStatus> {
    await this.#inTurn(async () => {
      const state = await this.#home.state();
      const holder = holderOf(state, member_id);
      if (holder !== undefined) {
        return await this.#changeMember(caller, state, { holder, key: null, counter: null });
      }
      await this.#change(caller, state, { kind: "none", key: null, counter: null });
    });
    return await this.status(caller.member_id);
  }

  /** Brings a ledger that has just opened up to date, or notes that it remembers another proof. */
  async attach(ledger: Ledger): Promise<void> {
    await this.#inTurn(() => this.#home.attach(ledger));
  }

  /** Takes over what another machine changed in a ledger that both share. Returns whether it did. */
  async follow(project_id: string): Promise<boolean> {
    return await this.#inTurn(async () => {
      const before = this.#home.changes;
      await this.#home.follow(project_id);
      return this.#home.changes !== before;
    });
  }

  /**
   * Takes over the keys of a ledger that this home joins. Returns whether they are others than before.
   * @throws GateError `conflict`
   */
  async adopt(changes: readonly unknown[]): Promise<boolean> {
    return await this.#inTurn(async () => {
      // Compares with every ledger of this home first.
      await this.#home.state();
      return await this.#home.adopt(changes);
    });
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

  /** The key with which the caller proves a deed. @throws GateError if they have none for it */
  #keyOfCaller(
    caller: Decider,
    deed: Deed,
    changes: readonly ProofChange[],
  ): EnrolledKey {
    const member_id = personOf(caller);
    const key = keysOf(changes).find((one) => one.member_id === member_id);
    if (!key) throw required(deed, `you have no key of your own; ${howToJoin(member_id)}`);
    const why = this.#whyNoRight(key, deed.verb);
    if (why !== null) throw new GateError("forbidden", `Cannot ${VERB_TEXTS[deed.verb]}: ${why}`);
    return key;
  }

  /** The key of the home has every right; a member's has those of its enrolment and of their role. */
  #whyNoRight(key: EnrolledKey, verb: ProofVerb): string | null {
    if (key.role === undefined) return null;
    const { member_id } = key;
    const role = this.#services.role_of ? this.#services.role_of(member_id) : key.role;
    if (role === null) return "you are not in the team any more";
    const can = role === "viewer" ? false : mayProve({ role }, verb);
    if (!can) return `your role is ${role}; an admin must do it`;
    if (mayProve(key, verb)) return null;
    return `your key is from before you were an admin; ${howToJoin(member_id)}`;
  }

  async #prove(caller: Decider, deed: Deed, key: EnrolledKey): Promise<ProofRecord> {
    const member_id = personOf(caller);
    const ask = (why: string) =>
      required(deed, why, this.#challenges.create({ ...deed, member_id }));
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

  /** Changes the key of the home. */
  async #change(
    caller: Decider,
    state: ProofState,
    { kind, key, counter }: NewKey & { kind: ProofChange["kind"] },
  ): Promise<void> {
    const asked = askedOf(kind, key);
    if (!state.is_certain) throw required(asked, state.problem!);
    const last = lastChange(state.changes);
    if (kind === "none" && state.kind === "none") {
      throw new GateError("conflict", "Cannot remove the proof: none is set up");
    }
    if (last?.key && last.key.member_id !== caller.member_id) {
      throw required(asked, "only the person who enrolled the home's key can change it");
    }
    const proof = last?.key ? await this.#prove(caller, asked, last.key) : null;
    const change = ProofChange.parse({
      ...this.#nextChange(caller, state),
      kind,
      key,
      before: { kind: state.kind, key_id: last?.key?.key_id ?? null },
      accepted_sha256: await this.#services.seal?.(state) ?? null,
      proof,
    });
    this.#challenges.clear();
    await this.#home.replace([...state.changes, change], counter);
  }

  /** Changes the key of a further member. */
  async #changeMember(
    caller: Decider,
    state: ProofState,
    { holder, key, counter, invited }: NewKey & { holder: string; invited?: Invited | undefined },
  ): Promise<void> {
    const { changes, problem } = state;
    const kind = key?.kind ?? "none";
    const last = lastChange(changes, holder);
    const invitation = invited && this.#invitations.find(invited.public_key, holder);
    const role = invitation?.role ?? last?.key?.role;
    const enrolled = key && role ? { ...key, role } : key;
    const asked = askedOf(kind, enrolled, holder);
    if (problem !== null) throw required(asked, problem);
    if (key === null && !last?.key) {
      throw new GateError(
        "conflict",
        `Cannot remove the proof: "${holder}" has no key of their own`,
      );
    }
    if (invited && !invitation) throw new GateError("conflict", `Cannot set your key: ${USED}`);
    if (key !== null) this.#requireMember(holder, role);
    const proof = invitation?.record ??
      await this.#prove(caller, asked, this.#keyForMember(caller, { asked, changes, holder, key }));
    const change = ProofChange.parse({
      ...this.#nextChange(caller, state),
      kind,
      key: enrolled,
      before: { kind: last?.kind ?? "none", key_id: last?.key?.key_id ?? null },
      accepted_sha256: changes.at(-1)?.accepted_sha256 ?? null,
      proof,
      holder,
      ...invitation && { invited },
    });
    const fault = await faultOfNext(changes, change);
    if (fault !== null) throw new GateError("invalid", `Cannot set your key: ${fault}`);
    if (invited) this.#invitations.end(invited.public_key);
    this.#challenges.clear(holder);
    await this.#home.replace([...changes, change], counter);
  }

  /** The key that permits a change of a member's key: their own, or an admin's to remove it. */
  #keyForMember(
    caller: Decider,
    { asked, changes, holder, key }: {
      asked: Deed;
      changes: readonly ProofChange[];
      holder: string;
      key: EnrolledKey | null;
    },
  ): EnrolledKey {
    const found = this.#keyOfCaller(caller, asked, changes);
    // The rights of an admin are those to create a login link.
    const why = caller.member_id === holder ? null : this.#whyNoRight(found, "issue_login");
    if (why === null && (key === null || caller.member_id === holder)) return found;
    throw new GateError(
      "forbidden",
      `Cannot ${VERB_TEXTS[asked.verb]}: ${why ?? "it is not yours"}`,
    );
  }

  /** The first key of a home decides about everything. @throws GateError `forbidden` */
  #requireFirst({ changes }: ProofState, member_id: string): void {
    const role = this.#services.role_of?.(member_id);
    if (lastChange(changes)?.key || role === undefined || role === "admin") return;
    throw new GateError("forbidden", "Cannot set the proof: an admin must set the first one");
  }

  /** @throws GateError `forbidden` for a person who may not decide with these rights */
  #requireMember(member_id: string, wanted: EnrolledKey["role"]): void {
    const role = this.#services.role_of ? this.#services.role_of(member_id) : wanted;
    if (role === "admin" || (role === "reviewer" && wanted !== "admin")) return;
    const why = role === null ? "you are not in the team" : `your role is ${role}`;
    throw new GateError("forbidden", `Cannot set your key: ${why}; ${howToJoin(member_id)}`);
  }

  #nextChange(caller: Decider, { changes }: ProofState) {
    const last = changes.at(-1);
    return {
      number: changes.length + 1,
      member_id: personOf(caller),
      at: new Date(this.#services.environment.now()).toISOString(),
      previous_sha256: last ? digestOf(last) : null,
    };
  }

  /** Runs one task at a time: no decision overtakes a change of the proof. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#turn.then(task);
    this.#turn = run.catch(() => {});
    return run;
  }
}

/** A key to enrol, with the counter of a passkey; null to remove one. */
interface NewKey {
  key: EnrolledKey | null;
  counter: Passkey | null;
}

const USED = "its login link was used already or has expired; an admin must create a new one";

function howToJoin(member_id: string): string {
  return `an admin creates a login link: gate team link ${member_id}`;
}

/** The further member whose key this person has; undefined for the person of the home's key. */
function holderOf({ changes }: ProofState, member_id: string): string | undefined {
  const home = lastChange(changes)?.key;
  return home && home.member_id !== member_id ? member_id : undefined;
}

function askedOf(kind: ProofChange["kind"], key: EnrolledKey | null, holder?: string): Deed {
  const digest = digestOf(changeAsked(kind, key, holder));
  return { verb: verbOfChange(kind), project_id: null, action_id: null, head: null, digest };
}

/** Why a change does not follow from those before it; null if it does. */
async function faultOfNext(
  changes: readonly ProofChange[],
  next: ProofChange,
): Promise<string | null> {
  const history = new History(NATIVE);
  for (const change of changes) await history.add(change);
  return await history.add(next);
}

/** The number of the change that replaced a key; null while it decides. */
function endOf(changes: readonly ProofChange[], { key_id }: EnrolledKey): number | null {
  if (keysOf(changes).some((key) => key.key_id === key_id)) return null;
  const at = changes.findLastIndex(({ key }) => key?.key_id === key_id);
  const { holder } = changes[at]!;
  return changes.slice(at + 1).find((change) => change.holder === holder)?.number ?? null;
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
