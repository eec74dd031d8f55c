import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { createGrowingCache } from "../growing_cache.ts";
import type { PolicyLimits } from "../policy/schema.ts";

/** The bytes of this time count. */
const WINDOW_MS = 10 * 60_000;
const SLICE_MS = 30_000;
const MAX_SESSIONS = 10_000;
const MAX_CONTENTS = 20_000;
/** A record costs at least this much: its row, its indexes and its events. */
const RECORD_BYTES = 4 * 1024;
/** So much counts for a new session, so that many sessions are no way around the machine's limit. */
const SESSION_BYTES = 64 * 1024;

type Limit = keyof typeof MEANING;

const MEANING = {
  maxRefusedBytesPerSession: "the refused actions of this session",
  maxRefusedBytesPerMachine: "the refused actions of all sessions",
  maxRecordedBytesPerSession: "the records of this session",
  maxRecordedBytesPerMachine: "the records of all sessions",
} as const satisfies Partial<Record<keyof PolicyLimits, string>>;

/** The bytes that a session wants to add to the records. */
export interface Wanted {
  session_id: string;
  /** The length of its texts. */
  bytes: number;
  is_refused: boolean;
}

/** A limit that is reached. */
export interface Reached {
  limit: Limit;
  most: number;
  /** Until then the limit refuses further actions. */
  retry_after: number;
  /** The first time within the window: it is worth an event. */
  is_first: boolean;
}

/** A content that the ledger will keep, by its hash. */
interface KeptContent {
  sha256: string;
  content: { byteLength: number } | { bytes: number };
}

/**
 * Counts the bytes that agents add to the ledgers of this machine within ten minutes, in memory.
 * Refused actions have limits of their own, so that a flood of them stops no allowed action.
 */
export class Intake {
  readonly #uptime: () => number;
  readonly #accounts = createGrowingCache<Account>(MAX_SESSIONS);
  readonly #machine = { refused: new Account(), recorded: new Account() };
  /** Contents that the ledger has already, because a session brought them. */
  readonly #contents = createGrowingCache<true>(MAX_CONTENTS);

  /** A clock that a program of the user can set would empty the accounts. */
  constructor({ uptime }: Pick<Environment, "uptime">) {
    this.#uptime = uptime ?? (() => performance.now());
  }

  /** Counts a new action. Returns the limit that refuses it; then nothing is counted. */
  admit({ session_id, bytes, is_refused }: Wanted, limits: PolicyLimits): Reached | null {
    const kind = is_refused ? "refused" : "recorded";
    const reached = is_refused
      ? this.#reached(session_id, "maxRefusedBytesPerSession", limits) ??
        this.#reached(null, "maxRefusedBytesPerMachine", limits)
      : this.#reached(session_id, "maxRecordedBytesPerSession", limits) ??
        this.#reached(null, "maxRecordedBytesPerMachine", limits);
    if (reached === null) this.#add(session_id, kind, RECORD_BYTES + bytes);
    return reached;
  }

  /** Counts a new session. Returns the limit that refuses it; then nothing is counted. */
  admitSession(limits: PolicyLimits): Reached | null {
    const reached = this.#reached(null, "maxRecordedBytesPerMachine", limits);
    if (reached === null) this.#machine.recorded.add(this.#uptime(), SESSION_BYTES);
    return reached;
  }

  /** Counts contents that an action of the session needs. A content counts once. */
  count(session_id: string, contents: readonly KeptContent[]): void {
    for (const { sha256, content } of contents) {
      const key = `${session_id} ${sha256}`;
      if (this.#contents.has(key)) continue;
      this.#contents.set(key, true);
      const bytes = "bytes" in content ? content.bytes : content.byteLength;
      this.#add(session_id, "recorded", bytes);
    }
  }

  #add(session_id: string, kind: "refused" | "recorded", bytes: number): void {
    const now = this.#uptime();
    this.#accountOf(session_id, kind).add(now, bytes);
    this.#machine[kind].add(now, bytes);
  }

  #reached(session_id: string | null, limit: Limit, limits: PolicyLimits): Reached | null {
    const kind = limit.startsWith("maxRefused") ? "refused" : "recorded";
    const account = session_id === null ? this.#machine[kind] : this.#accountOf(session_id, kind);
    const now = this.#uptime();
    const most = limits[limit];
    const wait_ms = account.waitFor(now, most);
    if (wait_ms === 0) return null;
    const retry_after = Math.max(1, Math.ceil(wait_ms / 1000));
    return { limit, most, retry_after, is_first: account.tells(now) };
  }

  #accountOf(session_id: string, kind: "refused" | "recorded"): Account {
    const key = `${kind} ${session_id}`;
    const account = this.#accounts.get(key) ?? new Account();
    this.#accounts.set(key, account);
    return account;
  }
}

/** The error for a limit that is reached. `subject` names what gate does not record. */
export function overLimit(
  { limit, most, retry_after }: Reached,
  subject: string,
  next: string,
): GateError {
  const why = `${MEANING[limit]} have reached ${most} bytes in ${
    WINDOW_MS / 60_000
  } minutes (${limit})`;
  return new GateError("rate_limited", `Cannot record ${subject}: ${why}; ${next}`, {
    fields: { limit, retry_after },
  });
}

/** Bytes by the time at which they came. */
class Account {
  #slices: { at: number; bytes: number }[] = [];
  #told: number | null = null;

  add(now: number, bytes: number): void {
    const at = Math.floor(now / SLICE_MS) * SLICE_MS;
    const last = this.#slices.at(-1);
    if (last?.at === at) last.bytes += bytes;
    else this.#slices.push({ at, bytes });
  }

  /** The milliseconds until fewer than `most` bytes count; 0 if it is so now. */
  waitFor(now: number, most: number): number {
    this.#slices = this.#slices.filter(({ at }) => at + WINDOW_MS > now);
    let left = this.#slices.reduce((sum, { bytes }) => sum + bytes, 0);
    if (left < most || left === 0) return 0;
    for (const { at, bytes } of this.#slices) {
      left -= bytes;
      if (left < most || left === 0) return at + WINDOW_MS - now;
    }
    return WINDOW_MS;
  }

  /** True at most once within the window. */
  tells(now: number): boolean {
    if (this.#told !== null && this.#told + WINDOW_MS > now) return false;
    this.#told = now;
    return true;
  }
}
