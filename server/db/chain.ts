import canonicalize from "canonicalize";
import { createHash } from "node:crypto";
import type { AuditEvent } from "../audit/schema.ts";
import type { NewEvent, Row } from "./ledger.ts";

/** The newest event of a chain; `seq` 0 and the zero hash before the first. */
export interface Head {
  seq: number;
  hash: string;
}

/** What the first event of every chain points back to. */
export const GENESIS: Head = { seq: 0, hash: "0".repeat(64) };

/** SHA-256 over the RFC 8785 form of everything but the hash itself. */
export function hashOf(event: Omit<AuditEvent, "hash">): string {
  const { seq, at, project_id, session_id, action_id, type, actor, data, prev_hash } = event;
  return sha256(
    canonical({ seq, at, project_id, session_id, action_id, type, actor, data, prev_hash }),
  );
}

/** The events with their places in the chain, following `head`. */
export function link(
  head: Head,
  events: NewEvent[],
  place: { project_id: string; at: string },
): AuditEvent[] {
  const linked: AuditEvent[] = [];
  let { seq, hash } = head;
  for (const event of events) {
    const { session_id, action_id, type, actor, data } = event;
    seq += 1;
    const body = { ...place, seq, session_id, action_id, type, actor, data, prev_hash: hash };
    hash = hashOf(body);
    linked.push({ ...body, hash });
  }
  return linked;
}

/** The RFC 8785 form of a JSON value. */
export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("Cannot write as JSON: the value has no JSON form");
  return text;
}

/** Lowercase hex of the SHA-256 of a text or of bytes. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** An audit row as the event it records. @throws SyntaxError when its JSON has been damaged */
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
