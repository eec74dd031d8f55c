import { signal } from "@preact/signals";
import type { AuditHead } from "../../server/audit/schema.ts";
import { api, unwrap } from "./client.ts";

const NAME = "gate.heads";
const MOST_PROJECTS = 200;

/** The newest event of a ledger that this browser saw. */
export interface SeenHead {
  seq: number;
  hash: string;
  /** When it was seen. */
  at: string;
}

/** A ledger that lost or changed events which this browser saw. */
export interface Setback {
  seen: SeenHead;
  /** The ledger's head now. */
  now: { seq: number; hash: string };
}

/** The ledgers that went back, by project. */
export const setbacks = signal<ReadonlyMap<string, Setback>>(new Map());

/**
 * Compares the head of each ledger with the one that this browser remembers, and remembers the newer
 * one. The memory is outside the ledger, so a program that cuts the ledger does not reach it.
 */
export async function lookAtHeads(projects: readonly string[]): Promise<void> {
  await Promise.all(projects.map((id) => lookAt(id).catch(() => {})));
}

async function lookAt(project_id: string): Promise<void> {
  const seen = readHeads()[project_id] ?? null;
  const query = seen === null ? {} : { at: seen.seq };
  const head = await unwrap<AuditHead>(api(project_id).api.audit.head.$get({ query }));
  if (seen === null || continues(seen, head)) {
    remember(project_id, head);
    drop(project_id);
  } else {
    const { seq, hash } = head;
    setbacks.value = new Map(setbacks.peek()).set(project_id, { seen, now: { seq, hash } });
  }
}

/** True when the ledger still has the event that was seen, unchanged. */
export function continues(seen: Pick<SeenHead, "seq" | "hash">, head: AuditHead): boolean {
  return head.seq >= seen.seq && head.at?.seq === seen.seq && head.at.hash === seen.hash;
}

/** Takes the present head as the true one, because a person knows why the ledger went back. */
export function acceptHead(project_id: string): void {
  const setback = setbacks.peek().get(project_id);
  if (!setback) return;
  write({ ...readHeads(), [project_id]: { ...setback.now, at: new Date().toISOString() } });
  drop(project_id);
}

function drop(project_id: string): void {
  if (!setbacks.peek().has(project_id)) return;
  setbacks.value = new Map([...setbacks.peek()].filter(([id]) => id !== project_id));
}

function remember(project_id: string, { seq, hash }: AuditHead): void {
  const heads = readHeads();
  const known = heads[project_id];
  // An empty ledger has nothing to lose, and another tab may have seen more.
  if (seq === 0 || (known && known.seq >= seq)) return;
  write({ ...heads, [project_id]: { seq, hash, at: new Date().toISOString() } });
}

type Heads = Record<string, SeenHead>;

function readHeads(): Heads {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "{}") as Heads;
    return Object.fromEntries(Object.entries(kept).filter(([, head]) => isHead(head)));
  } catch {
    return {};
  }
}

function isHead(head: Partial<SeenHead> | null): boolean {
  return Number.isInteger(head?.seq) && head!.seq! > 0 && typeof head?.hash === "string" &&
    typeof head.at === "string";
}

function write(heads: Heads): void {
  const newest = Object.entries(heads).sort(([, a], [, b]) => b.at.localeCompare(a.at));
  try {
    const kept = Object.fromEntries(newest.slice(0, MOST_PROJECTS));
    localStorage.setItem(NAME, JSON.stringify(kept));
  } catch {
    // Without storage, this browser is no witness.
  }
}
