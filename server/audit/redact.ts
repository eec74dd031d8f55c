import type { NewEvent } from "../db/ledger.ts";
import { maskSecrets } from "./secrets.ts";
import { ProofChange, ProofRecord } from "../proof/schema.ts";

/** Longer texts are cut in the chain; the action row has the whole text. */
const TEXT_LIMIT = 8_192;

/** The event without obvious secrets, in a form that the chain can hash and SQLite can keep. */
export function redactEvent(event: NewEvent): NewEvent {
  const { actor, data } = clean({ actor: event.actor, data: event.data }) as NewEvent;
  return { ...event, actor, data: { ...data, ...signedParts(event) } };
}

/** Keys and signatures as they are: masking a part that looks like a secret would break the proof. */
function signedParts({ type, data }: NewEvent): Record<string, unknown> {
  if (type === "proof.changed") return ProofChange.safeParse(data).data ?? {};
  const { data: proof } = data.proof ? ProofRecord.safeParse(data.proof) : {};
  return proof ? { proof } : {};
}

/** As through JSON, so that the hashed value equals the value that is read back. */
function clean(value: unknown): unknown {
  if (typeof value === "string") return cut(maskSecrets(value));
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (Array.isArray(value)) return value.map(clean);
  if (!isPlain(value)) return cleanOther(value);
  const cleaned: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const item = value[name];
    if (typeof item === "function" || typeof item === "symbol") continue;
    // Assigned, `__proto__` would be no field; a name with half a character cannot be kept.
    if (name === "__proto__" || !name.isWellFormed()) return cleanOther(value);
    if (item !== undefined) cleaned[name] = clean(item);
  }
  return cleaned;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || "toJSON" in value) return false;
  const kind = Object.getPrototypeOf(value);
  return kind === Object.prototype || kind === null;
}

function cleanOther(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, item) => cleanItem(item)) ?? "null");
}

function cleanItem(item: unknown): unknown {
  if (typeof item === "string") return cut(maskSecrets(item));
  if (typeof item === "bigint") return item.toString();
  if (item === null || typeof item !== "object" || Array.isArray(item)) return item;
  const names = Object.keys(item);
  if (names.every((name) => name.isWellFormed())) return item;
  return Object.fromEntries(Object.entries(item).map(([name, v]) => [name.toWellFormed(), v]));
}

function cut(text: string): string {
  if (text.length <= TEXT_LIMIT) return text;
  const left = text.length - TEXT_LIMIT;
  return `${text.slice(0, TEXT_LIMIT).toWellFormed()}… [${left} more characters]`;
}
