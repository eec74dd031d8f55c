import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { GateError } from "../errors.ts";
import { Policies, type PolicyEntry } from "../policy/schema.ts";
import { nearestOf } from "./misspelt.ts";

/**
 * The config's text with these policies. Keeps comments, unknown keys, omitted keys and the order
 * of unchanged entries.
 */
export function editPolicies(text: string, old: Policies, wanted: Policies): string {
  let edited = text;
  for (const [key, value] of Object.entries(wanted)) {
    const before = old[key];
    if (same(before, value)) continue;
    edited = Array.isArray(value) && Array.isArray(before)
      ? editList(edited, key, before, value)
      : change(edited, ["policies", key], value);
  }
  return edited;
}

/** Removes and inserts single entries. Replaces the whole list only for a new order. */
function editList(text: string, key: string, before: PolicyEntry[], wanted: PolicyEntry[]): string {
  const kept = before.filter((entry) => wanted.some((one) => same(one, entry)));
  const stays = wanted.filter((entry) => before.some((one) => same(one, entry)));
  if (!same(kept, stays)) return change(text, ["policies", key], wanted);
  let edited = text;
  for (let at = before.length - 1; at >= 0; at--) {
    const gone = !wanted.some((one) => same(one, before[at]));
    if (gone) edited = change(edited, ["policies", key, at], undefined);
  }
  for (const [at, entry] of wanted.entries()) {
    if (before.some((one) => same(one, entry))) continue;
    edited = change(edited, ["policies", key, at], entry, true);
  }
  return edited;
}

function change(text: string, path: JSONPath, value: unknown, isArrayInsertion = false): string {
  const formattingOptions = { insertSpaces: !/^\t/m.test(text), tabSize: 2, eol: "\n" };
  return applyEdits(text, modify(text, path, value, { formattingOptions, isArrayInsertion }));
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Rejects new unknown keys and accepts those in the file already. @throws GateError `invalid` */
export function rejectUnknownKeys(policies: Policies, present: Policies, attempt: string): void {
  const known = Object.keys(Policies.shape);
  const key = Object.keys(policies).find((one) =>
    !known.includes(one) && !Object.hasOwn(present, one)
  );
  if (key === undefined) return;
  const meant = nearestOf(key, known);
  const next = meant === null ? `it has ${known.join(", ")}` : `did you mean "${meant}"?`;
  throw new GateError("invalid", `${attempt}: it has no key "${key}"; ${next}`);
}
