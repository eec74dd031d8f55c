import { canonical } from "./canonical.ts";
import type { AuditEvent } from "./schema.ts";

/** The newest event of a chain; `seq` 0 and the zero hash before the first. */
export interface Head {
  seq: number;
  hash: string;
}

/** The head before the first event of every chain. */
export const GENESIS: Head = { seq: 0, hash: "0".repeat(64) };

/** The fields of an event in the order of writing, with a test of their values. */
const FIELDS: Record<keyof AuditEvent, (value: unknown) => boolean> = {
  seq: Number.isSafeInteger,
  at: isText,
  project_id: isText,
  session_id: isTextOrNull,
  action_id: isTextOrNull,
  type: isText,
  actor: (value) => isRecord(value) && isText(value.kind) && isText(value.id),
  data: isRecord,
  prev_hash: isText,
  hash: isText,
};

/** The text that is hashed: the RFC 8785 form of all fields except the hash. */
export function hashedText(event: Omit<AuditEvent, "hash">): string {
  return textOf(event, { actor: canonical(event.actor), data: canonical(event.data) });
}

/** The same text from an event whose `actor` and `data` are in RFC 8785 form already. */
export function textOf(
  { seq, at, project_id, session_id, action_id, type, prev_hash }: Omit<
    AuditEvent,
    "hash" | "actor" | "data"
  >,
  { actor, data }: { actor: string; data: string },
): string {
  // RFC 8785 sorts the names.
  const texts = [
    ...[`"action_id":${canonical(action_id)}`, `"actor":${actor}`, `"at":${canonical(at)}`],
    ...[`"data":${data}`, `"prev_hash":${canonical(prev_hash)}`],
    ...[`"project_id":${canonical(project_id)}`, `"seq":${canonical(seq)}`],
    ...[`"session_id":${canonical(session_id)}`, `"type":${canonical(type)}`],
  ];
  return `{${texts.join(",")}}`;
}

/** The value as an event with its fields in order; null when a field is missing, wrong or unknown. */
export function asEvent(value: unknown): AuditEvent | null {
  const fields = Object.entries(FIELDS);
  if (!isRecord(value) || Object.keys(value).length !== fields.length) return null;
  if (!fields.every(([name, holds]) => holds(value[name]))) return null;
  return Object.fromEntries(fields.map(([name]) => [name, value[name]])) as unknown as AuditEvent;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTextOrNull(value: unknown): boolean {
  return value === null || isText(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
