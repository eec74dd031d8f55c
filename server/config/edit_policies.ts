import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { GateError } from "../errors.ts";
import { Policies, type PolicyEntry } from "../policy/schema.ts";
import { nearestOf } from "./misspelt.ts";

/**
 * The config's text with these policies in it: comments, unknown keys and the order of what stays
 * are kept. Keys left out stay as they are.
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

/** Takes out what is gone and puts in what is new; only a new order replaces the list. */
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

/** A key that means nothing stays where it stands; to set a new one is a mistake. @throws GateError */
export function refuseStrangers(wanted: Policies, present: Policies, told: string): void {
  const known = Object.keys(Policies.shape);
  const key = Object.keys(wanted).find((one) =>
    !known.includes(one) && !Object.hasOwn(present, one)
  );
  if (key === undefined) return;
  const meant = nearestOf(key, known);
  const next = meant === null ? `it has ${known.join(", ")}` : `did you mean "${meant}"?`;
  throw new GateError("invalid", `${told}: it has no key "${key}"; ${next}`);
}
