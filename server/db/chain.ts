import { hash } from "node:crypto";
import type { AuditEvent, Checkpoint } from "../evidence/schema.ts";
import { canonical } from "../evidence/canonical.ts";
import { hashedText, type Head, textOf } from "../evidence/chain.ts";
import type { NewEvent, Row, Statement } from "./ledger.ts";

/** SHA-256 over the RFC 8785 form of everything but the hash itself. */
export function hashOf(event: Omit<AuditEvent, "hash">): string {
  return sha256(hashedText(event));
}

/** An event in the chain, with the texts that its row holds. */
export interface Linked {
  event: AuditEvent;
  /** In RFC 8785 form, as the hash covers them. */
  actor: string;
  data: string;
}

/** The events with their numbers and hashes, in the chain after `head`. */
export function link(
  head: Head,
  events: NewEvent[],
  place: { project_id: string; at: string },
): Linked[] {
  const linked: Linked[] = [];
  let { seq, hash: last } = head;
  for (const event of events) {
    const { session_id, action_id, type } = event;
    seq += 1;
    const texts = { actor: canonical(event.actor), data: canonical(event.data) };
    const named = { ...place, seq, session_id, action_id, type };
    const body = { ...named, actor: event.actor, data: event.data, prev_hash: last };
    last = sha256(textOf(body, texts));
    linked.push({ event: { ...body, hash: last }, ...texts });
  }
  return linked;
}

/** Lowercase hex of the SHA-256 of a text or of bytes. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** The event in an audit row. @throws SyntaxError when its JSON is damaged */
export function toEvent(row: Row): AuditEvent {
  return {
    seq: Number(row.seq),
    at: String(row.at),
    project_id: String(row.project_id),
    session_id: row.session_id as string | null,
    action_id: row.action_id as string | null,
    type: String(row.type) as AuditEvent["type"],
    actor: JSON.parse(String(row.actor)),
    data: JSON.parse(String(row.data)),
    prev_hash: String(row.prev_hash),
    hash: String(row.hash),
  };
}

/** Inserts a checkpoint, if the chain holds the event that it signs. */
export function insertCheckpoint(checkpoint: Checkpoint): Statement {
  const { project_id, seq, hash, at, public_key, signature } = checkpoint;
  return {
    sql: `INSERT INTO checkpoints (project_id, seq, hash, at, public_key, signature)
      SELECT ?, ?, ?, ?, ?, ?
      WHERE EXISTS (SELECT 1 FROM audit WHERE project_id = ? AND seq = ? AND hash = ?)
      ON CONFLICT DO NOTHING`,
    args: [project_id, seq, hash, at, public_key, signature, project_id, seq, hash],
  };
}
