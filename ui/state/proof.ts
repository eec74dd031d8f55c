import { computed, signal } from "@preact/signals";
import { type Client, unwrap } from "../../server/client.ts";
import { ExplainedError } from "../../server/proof/explained_error.ts";
import type { Challenge, EnrolledKey, Proof, ProofStatus } from "../../server/proof/schema.ts";

/** How a person proves a decision, and the enrolled keys; null until loaded. */
export const proof = signal<ProofStatus | null>(null);

/** The key of the person who is logged in; null when they have none. */
export const enrolled = computed(() => keyOfPerson(proof.value));

/** Whether somebody has a key here, and the person who is logged in has none. */
export const isWithoutKey = computed(() => {
  const kind = proof.value?.kind;
  return (kind === "passphrase" || kind === "passkey") && enrolled.value === null;
});

/** Signs with the key of the passphrase, which is in the memory of this page only. */
export interface Signer {
  key_id: string;
  sign(challenge: Challenge): Promise<Proof>;
}

interface Unlocked extends Signer {
  /** Milliseconds since 1970; null as long as the page lives. */
  until: number | null;
}

/** The unlocked key; null while the page is locked. */
export const unlocked = signal<Unlocked | null>(null);

/** An open question to the person, for the passphrase or the passkey. */
export interface Asking {
  key: EnrolledKey;
  /** The challenges to sign; empty when the person only unlocks the page. */
  challenges: readonly Challenge[];
  /** Takes the proofs of a passkey, one for each challenge; null once the page is unlocked. */
  answer(given: readonly Proof[] | null): void;
  cancel(): void;
}

/** The open question to the person. */
export const asking = signal<Asking | null>(null);

/** The person did not give a proof, so the request was not sent. */
export class NotProved extends ExplainedError {}

let timer: ReturnType<typeof setTimeout> | undefined;
let last: Promise<unknown> = Promise.resolve();
let cancelled = 0;

/** Reads the state of the proof. */
export async function loadProof(client: Client): Promise<void> {
  const status = await unwrap(client.api.proof.$get());
  proof.value = status;
  if (unlocked.peek() && unlocked.peek()?.key_id !== keyOfPerson(status)?.key_id) lock();
}

function keyOfPerson(status: ProofStatus | null): EnrolledKey | null {
  return status?.enrolled.find(({ member_id }) => member_id === status.member_id) ?? null;
}

/**
 * Signs a challenge. Asks the person for the passphrase unless the page is unlocked; a passkey is
 * asked each time. Challenges wait for one another; one refusal refuses all that wait.
 * @throws NotProved
 */
export async function prove(challenge: Challenge, client: Client): Promise<Proof> {
  return (await proveAll([challenge], client))[0]!;
}

/** Signs several challenges; a passkey signs them with one answer. @throws NotProved */
export function proveAll(
  challenges: readonly Challenge[],
  client: Client,
): Promise<readonly Proof[]> {
  const round = cancelled;
  const signed = last.then(() => {
    if (round !== cancelled) throw notProved();
    return sign(challenges, client);
  });
  last = signed.catch(() => {});
  return signed;
}

async function sign(
  challenges: readonly Challenge[],
  client: Client,
): Promise<readonly Proof[]> {
  const [first] = challenges as [Challenge];
  let key = keyFor(first);
  if (key === null) {
    await loadProof(client);
    key = keyFor(first);
  }
  if (key === null) {
    throw new NotProved("You have no key of your own; ask an admin for a login link.");
  }
  const held = key.kind === "passphrase" ? currentKey(key) : null;
  const given = held ? null : await ask(key, challenges);
  if (given) return given;
  const opened = held ?? currentKey(key);
  if (!opened) throw notProved();
  return await Promise.all(challenges.map((challenge) => opened.sign(challenge)));
}

function keyFor({ member_id }: Challenge): EnrolledKey | null {
  return proof.peek()?.enrolled.find((key) => key.member_id === member_id) ?? null;
}

/** The unlocked key, unless it belongs to another enrolment or its time is over. */
function currentKey({ key_id }: EnrolledKey): Unlocked | null {
  const held = unlocked.peek();
  if (!held || held.key_id !== key_id) return null;
  if (held.until === null || held.until > Date.now()) return held;
  lock();
  return null;
}

/** Asks the person; resolves with the passkey's proofs, or null once the page is unlocked. */
function ask(
  key: EnrolledKey,
  challenges: readonly Challenge[],
): Promise<readonly Proof[] | null> {
  return new Promise((resolve, reject) => {
    const end = () => asking.value = null;
    asking.value = {
      key,
      challenges,
      answer: (given) => {
        end();
        resolve(given);
      },
      cancel: () => {
        end();
        cancelled += 1;
        reject(notProved());
      },
    };
  });
}

/** Asks for the passphrase, without a decision. */
export async function unlock(): Promise<void> {
  const key = enrolled.peek();
  if (key?.kind !== "passphrase" || asking.peek() || currentKey(key)) return;
  await ask(key, []).catch(() => {});
}

/** Keeps the key of the passphrase in memory until `lock` or until its time is over. */
export function keepUnlocked(signer: Signer): void {
  clearTimeout(timer);
  const seconds = proof.peek()?.unlock_seconds ?? null;
  const until = seconds === null ? null : Date.now() + seconds * 1000;
  unlocked.value = { ...signer, until };
  // A timer runs late after the machine slept, so each use compares the time too.
  if (seconds !== null) timer = setTimeout(lock, Math.min(seconds * 1000, 2 ** 31 - 1));
}

/** Forgets the key of the passphrase. */
export function lock(): void {
  clearTimeout(timer);
  unlocked.value = null;
}

function notProved(): NotProved {
  return new NotProved("You gave no proof. Nothing was decided.");
}
