import type { Node } from "jsonc-parser";
import { z } from "zod";

/** A config key without effect. */
export interface UnknownKey {
  key: string;
  /** The path of its object: `policies`, `policies.blockedTools.0`. */
  within: string;
  /** The known key that its author probably meant. */
  meant: string | null;
  offset: number;
}

/**
 * Keys that forbid or restrict. A misspelt one must not be ignored silently, so it makes the whole
 * file invalid.
 */
const FORBIDDING = new Set([
  "policies",
  "defaultEffect",
  "sandbox",
  "mode",
  "network",
  "askPaths",
  "blockedPaths",
  "askCommands",
  "blockedCommands",
  "askTools",
  "blockedTools",
  "args",
  "match",
  "not_match",
  "approvals",
  "proof",
]);

/** Every unknown key in the objects that the schema describes. */
export function listUnknown(node: Node, schema: z.ZodType, within = ""): UnknownKey[] {
  const one = objectOf(schema, node);
  if (node.type === "array" && one instanceof z.ZodArray) {
    const { element } = one;
    return (node.children ?? []).flatMap((child, at) =>
      listUnknown(child, element as z.ZodType, `${within}.${at}`)
    );
  }
  if (node.type !== "object" || !(one instanceof z.ZodObject)) return [];
  const shape = one.shape as Record<string, z.ZodType>;
  return (node.children ?? []).flatMap(({ children = [] }) => {
    const [name, value] = children;
    const key = String(name?.value);
    if (!name || !value) return [];
    if (!Object.hasOwn(shape, key)) {
      const meant = nearestOf(key, Object.keys(shape).filter((known) => !has(node, known)));
      return [{ key, within, meant, offset: name.offset }];
    }
    return listUnknown(value, shape[key]!, within === "" ? key : `${within}.${key}`);
  });
}

/** The first misspelt key that forbids or restricts. */
export function findForbidding(unknown: readonly UnknownKey[]): UnknownKey | null {
  return unknown.find(({ meant }) => meant !== null && FORBIDDING.has(meant)) ?? null;
}

/** The warning about an unknown key; null when there is none. */
export function describeUnknown({ key, within, meant }: UnknownKey, file: string): string | null {
  const place = within === "" ? file : `the ${within.replace(/\..*/, "")} of ${file}`;
  if (meant) return `"${key}" in ${place} has no effect: did you mean "${meant}"?`;
  // Editors and other programs have keys of such names.
  if (/^(\$|x-)/.test(key)) return null;
  const isNamed = within === "" || within === "policies";
  return isNamed ? `"${key}" in ${place} has no effect: no such key is known` : null;
}

/** The schema of an object or array, without its optional wrapper. */
function objectOf(schema: z.ZodType, node: Node): z.ZodType {
  if (schema instanceof z.ZodOptional) return objectOf(schema.unwrap() as z.ZodType, node);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const kind = node.type === "array" ? z.ZodArray : z.ZodObject;
  return (schema.options as z.ZodType[]).find((option) => option instanceof kind) ?? schema;
}

function has(node: Node, key: string): boolean {
  return (node.children ?? []).some(({ children }) => children?.[0]?.value === key);
}

/** The known key that an unknown one resembles; null when none is close enough. */
export function nearestOf(key: string, known: readonly string[]): string | null {
  const written = plain(key);
  if (written.length > 40) return null;
  const near = known.map((one) => ({ one, far: distance(written, plain(one)) }))
    .filter(({ one, far }) => far <= mostOf(written, plain(one)))
    .sort((a, b) => a.far - b.far);
  return near[0]?.one ?? null;
}

/** Lower case, without separators, synonyms replaced by one word. */
function plain(key: string): string {
  return key.replace(/[-_\s]/g, "").toLowerCase()
    .replace(/^(deny|denied|denylist|forbid|forbidden|disallow|disallowed|block)(?!ed)/, "blocked")
    .replace(/^allow(?!ed)/, "allowed").replace(/ies$/, "y").replace(/s$/, "");
}

/** The maximal distance of two keys: one letter in four, and one more with a common beginning. */
function mostOf(a: string, b: string): number {
  const alike = a.slice(0, 5) === b.slice(0, 5) && Math.min(a.length, b.length) >= 6;
  return Math.max(1, Math.floor(Math.min(a.length, b.length) / 4)) + Number(alike);
}

/** The edit distance, where swapping two neighbours counts as one edit. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const ways = [row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + (same ? 0 : 1)];
      if (swapped) ways.push(before[j - 2]! + 1);
      row.push(Math.min(...ways));
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
