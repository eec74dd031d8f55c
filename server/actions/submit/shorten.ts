import { Buffer } from "node:buffer";
import { sha256 } from "../../db/chain.ts";
import type { Plan, Shortened } from "../plan.ts";
import type { NewRow } from "../store.ts";

/** A longer text of a refused action is kept as its beginning and its end. */
const MAX_TEXT = 4_096;
const BEGINNING = 3_072;
const END = 512;
/** A larger list of files, or input, is not kept whole. */
const MAX_JSON = 8_192;
const MAX_ACCESSES = 10;

/**
 * A refused action as the ledger keeps it: of its long texts an excerpt, the length and the hash.
 * Its digest stays that of the whole, so a reader who has the texts can check all of them. Nobody
 * decides on a refused action, and nobody executes it.
 */
export function shortenRefused(row: NewRow): NewRow {
  const { plan, command, analysis } = row;
  const shortened: Shortened = {};
  const cut = command === null ? null : textOf("command", command, shortened);
  const kept = plan && planOf({ ...plan, command: cut }, plan, shortened);
  const isWhole = Object.keys(shortened).length === 0;
  return {
    ...row,
    command: cut,
    plan: kept && !isWhole ? { ...kept, shortened } : kept,
    decision: withoutLongTexts(row.decision),
    risk: withoutLongTexts(row.risk),
    analysis: JSON.stringify(analysis).length > MAX_JSON ? null : analysis,
  };
}

function planOf(kept: Plan, { command, input, accesses }: Plan, shortened: Shortened): Plan {
  const isInput = command !== null && input.command === command;
  const wholeInput = JSON.stringify(input);
  const wholeAccesses = JSON.stringify(accesses);
  const result = { ...kept };
  if (wholeInput.length > MAX_JSON || (isInput && shortened.command)) {
    shortened.input = measure(wholeInput);
    // A command is shown beside its input.
    result.input = isInput ? {} : { excerpt: excerptOf(wholeInput) };
  }
  if (wholeAccesses.length > MAX_JSON) {
    shortened.accesses = measure(wholeAccesses);
    result.accesses = fittingIn(accesses);
  }
  return result;
}

function fittingIn(accesses: Plan["accesses"]): Plan["accesses"] {
  let left = MAX_JSON;
  return accesses.slice(0, MAX_ACCESSES)
    .filter((access) => (left -= JSON.stringify(access).length) >= 0);
}

function textOf(name: keyof Shortened, text: string, shortened: Shortened): string {
  if (text.length <= MAX_TEXT) return text;
  shortened[name] = measure(text);
  return excerptOf(text);
}

function measure(text: string): { bytes: number; sha256: string } {
  return { bytes: Buffer.byteLength(text), sha256: sha256(text) };
}

function excerptOf(text: string): string {
  const left = text.length - BEGINNING - END;
  const [from, to] = [text.slice(0, BEGINNING).toWellFormed(), text.slice(-END).toWellFormed()];
  return `${from} [gate kept no more of this text: ${left} characters] ${to}`;
}

/** A copy in which every long text is an excerpt. They repeat what the agent wrote. */
function withoutLongTexts<T>(value: T): T {
  if (typeof value === "string") {
    return (value.length > MAX_TEXT ? excerptOf(value) : value) as T;
  }
  if (Array.isArray(value)) return value.map(withoutLongTexts) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withoutLongTexts(item)]),
  ) as T;
}
