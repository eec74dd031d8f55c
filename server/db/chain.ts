import { createHash } from "node:crypto";
import type { AuditEvent } from "../evidence/schema.ts";
import { hashedText, type Head } from "../evidence/chain.ts";
import type { NewEvent, Row } from "./ledger.ts";

/** SHA-256 over the RFC 8785 form of everything but the hash itself. */
export function hashOf(event: Omit<AuditEvent, "hash">): string {
  return sha256(hashedText(event));
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
