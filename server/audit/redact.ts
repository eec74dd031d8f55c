import type { NewEvent } from "../db/ledger.ts";
import { ProofChange, ProofRecord } from "../proof/schema.ts";

/** Replaces a secret in the chain. */
const MASK = "[redacted]";

/** Longer texts are cut in the chain; the action row has the whole text. */
const TEXT_LIMIT = 8_192;

const SECRETS: [RegExp, string][] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, MASK],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, MASK],
  [/\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{36,255}/g, MASK],
  [/\bgithub_pat_[A-Za-z0-9_]{22,255}/g, MASK],
  [/\bglpat-[A-Za-z0-9_-]{20,64}/g, MASK],
  [/\bxox[abprs]-[A-Za-z0-9-]{10,255}/g, MASK],
  [/\bsk-[A-Za-z0-9_-]{20,255}/g, MASK],
  [/\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g, MASK],
  [/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${MASK}`],
  [/(:\/\/[^\s:/@]{1,256}:)[^\s:/@]{1,256}@/g, `$1${MASK}@`],
  [
    /\b((?:[A-Za-z0-9]{1,64}[_-])?(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key))(["']?\s{0,4}[=:]\s{0,4})("[^"]{1,4096}"|'[^']{1,4096}'|[^\s"',;&|]{1,4096})/gi,
    `$1$2${MASK}`,
  ],
];

/** Matches every text that contains a secret from the list. Most texts fail this one quick test. */
const HINT =
  /-----BEGIN|AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|xox|sk-|eyJ|bearer|basic|:\/\/|pass|pwd|secret|token|key/i;

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

/** The text with obvious secrets masked. */
export function redactText(text: string): string {
  let result = text.toWellFormed();
  if (!HINT.test(result)) return result;
  for (const [pattern, replacement] of SECRETS) result = result.replace(pattern, replacement);
  return result;
}

function clean(value: unknown): unknown {
  // Through JSON, so that the hashed value equals the value that is read back.
  return JSON.parse(JSON.stringify(value, (_key, item) => cleanItem(item)) ?? "null");
}

function cleanItem(item: unknown): unknown {
  if (typeof item === "string") return cut(redactText(item));
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
