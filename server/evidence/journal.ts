import { createHash } from "node:crypto";
import type { AuditEvent } from "./schema.ts";

/** The name of the gate's lines in the system's journal. */
export const JOURNAL_TAG = "gate-audit";

/** Writes one line to the system's journal. */
export type WriteLine = (line: string) => void;

/** A head in a line of the journal. */
export interface JournalHead {
  project_id: string;
  seq: number;
  hash: string;
}

const SOON_MS = 1_000;
const LATER_MS = 60_000;

/**
 * Tells the system's journal the newest event of each ledger: within a second of a person's decision
 * and of a checkpoint, else once a minute. A program of the same user cannot take a line back.
 */
export class Journal {
  readonly #write: WriteLine;
  readonly #home: string;
  readonly #due = new Map<string, JournalHead>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #is_soon = false;

  constructor(write: WriteLine, home: string) {
    this.#write = write;
    this.#home = homeTag(home);
  }

  /** Notes new events of one ledger. */
  note(events: readonly AuditEvent[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    const { project_id, seq, hash } = last;
    this.#due.set(project_id, { project_id, seq, hash });
    this.#schedule(events.some(isWitnessed));
  }

  /** Writes what is due. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const { project_id, seq, hash } of this.#due.values()) {
      this.#write(`head ${this.#home} ${encodeURIComponent(project_id)} ${seq} ${hash}`);
    }
    this.#due.clear();
  }

  #schedule(soon: boolean): void {
    if (this.#timer !== null && (this.#is_soon || !soon)) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#is_soon = soon;
    this.#timer = setTimeout(() => this.flush(), soon ? SOON_MS : LATER_MS);
    this.#timer.unref();
  }
}

/** The head in a line of the journal, if the line is about this data folder. */
export function readHeadLine(line: string, home: string): JournalHead | null {
  const found = /^head ([0-9a-f]{16}) (\S{1,1024}) (\d{1,15}) ([0-9a-f]{64})$/.exec(line);
  if (!found || found[1] !== homeTag(home)) return null;
  try {
    return { project_id: decodeURIComponent(found[2]!), seq: Number(found[3]), hash: found[4]! };
  } catch {
    return null;
  }
}

const CHECKPOINT_EVERY = 1_000;
const DEEDS = /^(policy|proof|grant|member|route|block|guard)\./;

/** Whether the event is a person's deed, or has a signed checkpoint. */
function isWitnessed({ type, actor, seq }: AuditEvent): boolean {
  return actor.kind === "reviewer" || DEEDS.test(type) || seq % CHECKPOINT_EVERY === 0;
}

/** Two data folders on one machine keep their lines apart, and the line does not name the folder. */
function homeTag(home: string): string {
  return createHash("sha256").update(home).digest("hex").slice(0, 16);
}
