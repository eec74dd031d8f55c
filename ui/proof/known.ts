import { computed, signal } from "@preact/signals";
import type { ProofStatus } from "../../server/proof/schema.ts";
import { proof } from "../state/proof.ts";

const NAME = "gate.proof";

/** The proof that this browser saw first, or that a person set or confirmed in it. */
interface Known {
  kind: ProofStatus["kind"];
  key_id: string | null;
  /** The keys of further members, by their ids. */
  members: Record<string, string>;
}

const known = signal<Known | null>(null);

/** The proof that this browser knows, when the daemon now names another one; null otherwise. */
export const changedFrom = computed(() => {
  const before = known.value;
  const now = proof.value;
  if (before === null || now === null || isSame(before, toKnown(now))) return null;
  return before;
});

/** The further members who have got, changed or lost a key since this browser looked. */
export const changedMembers = computed(() => {
  const before = known.value?.members ?? {};
  const now = proof.value === null ? before : toKnown(proof.value).members;
  const all = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...all].filter((id) => before[id] !== now[id]);
});

/** Reads what this browser knows, and remembers the first proof that it sees. */
export function openKnown(): () => void {
  const read = () => known.value = readKnown();
  read();
  addEventListener("storage", read);
  const stop = proof.subscribe((now) => {
    if (now !== null && known.peek() === null) rememberKey(now);
  });
  return () => {
    removeEventListener("storage", read);
    stop();
  };
}

/** Remembers the proof as one that the person set or confirmed. */
export function rememberKey(status: ProofStatus): void {
  known.value = toKnown(status);
  try {
    localStorage.setItem(NAME, JSON.stringify(known.value));
  } catch {
    // Without storage, the page knows it until it is closed.
  }
}

function toKnown({ kind, enrolled }: ProofStatus): Known {
  const home = enrolled.find(({ role }) => role === undefined);
  const members = enrolled.filter((key) => key !== home);
  return {
    kind,
    key_id: home?.key_id ?? null,
    members: Object.fromEntries(members.map(({ member_id, key_id }) => [member_id, key_id])),
  };
}

function isSame(one: Known, other: Known): boolean {
  return one.kind === other.kind && one.key_id === other.key_id;
}

const KINDS: readonly unknown[] = ["none", "token", "passphrase", "passkey"];

function readKnown(): Known | null {
  try {
    const { kind, key_id, members = {} } = JSON.parse(
      localStorage.getItem(NAME) ?? "null",
    ) as Known;
    return KINDS.includes(kind) && (key_id === null || typeof key_id === "string")
      ? { kind, key_id, members: typeof members === "object" && members ? members : {} }
      : null;
  } catch {
    return null;
  }
}
