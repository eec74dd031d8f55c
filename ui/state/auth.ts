import { signal } from "@preact/signals";
import {
  createChallenge,
  createNonce,
  isProved,
  isSigned,
  NONCE_HEADER,
} from "../../server/auth/prove_daemon.ts";
import { keepInvitation } from "./invitation.ts";
import { lock } from "./proof.ts";

const NAME = "gate.key";
const LIFE_MS = 12 * 60 * 60 * 1000;
const PROOF_MS = 10_000;
const CLOCK_MS = 60_000;

/** The key of this page; null shows the login page. Requests use it through `provenKey`. */
export const key = signal<string | null>(null);

/**
 * Why the page deleted its key: the program on this port does not know the key (the daemon was
 * restarted, or another program pretends so), or it gave an answer that no daemon gives.
 */
export const refusal = signal<"unknown" | "stranger" | null>(null);

let proven: { key: string; done: Promise<void> } | null = null;

/** Moves the key from the URL into storage, or reads the stored one. Runs before anything else. */
export function openKey(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("key");
  if (given) {
    keepInvitation(fragment.get("invitation"));
    history.replaceState(null, "", location.pathname + location.search);
    write({ key: given, until: Date.now() + LIFE_MS });
  }
  key.value = given ?? read();
  // A login in another tab is valid here too.
  addEventListener("storage", () => {
    key.value = read();
    if (key.value !== null) refusal.value = null;
  });
}

/**
 * The key, after the program on this port has proved that it is the daemon that made the key. It
 * proves it once for each connection; `distrust` requires a new proof.
 * @throws Error when nobody answers, or when the page has no key any more
 */
export async function provenKey(): Promise<string> {
  const current = key.value;
  if (current === null) throw new Error("the page has no key");
  if (proven?.key !== current) proven = { key: current, done: prove(current) };
  const mine = proven;
  try {
    await mine.done;
  } catch (error) {
    if (proven === mine) proven = null;
    throw error;
  }
  return current;
}

/**
 * A `fetch` with the key, for the daemon only. The connection may have changed hands since the last
 * proof, so the answer itself is signed too.
 * @throws Error when nobody answers, when another program does, or when the page has no key
 */
export async function fetchProven(
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const current = await provenKey();
  const nonce = createNonce();
  const headers = new Headers(init.headers);
  headers.set("X-Gate-Key", current);
  headers.set(NONCE_HEADER, nonce);
  const answer = await fetch(input, { ...init, headers, credentials: "omit", redirect: "error" });
  if (!await isSigned(current, nonce, location.origin, answer)) {
    // A daemon that does not know the key signs nothing. The next proof says who answers.
    distrust();
    await provenKey();
    throw new Error("unsigned");
  }
  if (answer.status === 401) forgetKey();
  return answer;
}

/** Requires a new proof of the daemon: a connection was lost, so another program may answer now. */
export function distrust(): void {
  proven = null;
}

/** Deletes a key that the daemon no longer accepts, and locks the page. */
export function forgetKey(): void {
  proven = null;
  lock();
  try {
    localStorage.removeItem(NAME);
  } finally {
    key.value = null;
  }
}

async function prove(current: string): Promise<void> {
  const challenge = await createChallenge(current);
  const answer = await fetch("/api/auth/prove-daemon", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(challenge),
    credentials: "omit",
    redirect: "manual",
    signal: AbortSignal.timeout(PROOF_MS),
  });
  if (answer.status >= 500) throw new Error(`the daemon's proof: ${answer.status}`);
  const body = await answer.json().catch(() => null) as { code?: unknown } | null;
  if (answer.ok && await isProved(current, challenge, location.origin, body)) return;
  const isUnknown = answer.status === 404 && body?.code === "not_found";
  // A key that is about to end by the page's own clock has ended by the daemon's.
  if (!isUnknown) refusal.value = "stranger";
  else if (read(Date.now() + CLOCK_MS) !== null) refusal.value = "unknown";
  if (key.value === current) forgetKey();
  throw new Error("another program answers on this port");
}

function read(now = Date.now()): string | null {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "null") as
      | { key?: unknown; until?: unknown }
      | null;
    if (typeof kept?.key !== "string" || typeof kept.until !== "number") return null;
    return kept.until > now ? kept.key : null;
  } catch {
    return null;
  }
}

// Without storage, the key works until the page is closed.
function write(value: { key: string; until: number }): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(value));
  } catch {
    return;
  }
}
