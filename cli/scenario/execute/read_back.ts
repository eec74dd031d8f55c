import { isDeepStrictEqual } from "node:util";
import { valueAt } from "../json.ts";
import type { Check } from "../schema.ts";
import { type HttpExchange, type HttpRequest, isSuccess, sendRequest } from "./http.ts";
import type { RequestDraft } from "./request.ts";
import type { Target } from "./target.ts";
import type { Verdict } from "./verdict.ts";

/** The result of a check, as evidence. */
export interface ReadBack {
  path: string;
  pointer: string | null;
  /** The value before the request, for `changes_by` only. */
  before?: unknown;
  after: unknown;
  /** True when the effect is right; null when it could not be read. */
  held: boolean | null;
  /** The mistake, or why the effect could not be read. */
  why: string | null;
}

/** Sends the GET of a check and picks its value. */
export type Reader = (check: Check) => Promise<Reading>;

/** The value of a check, or why there is none. */
export type Reading = { value: unknown } | { unreadable: string } | { wrong: string };

const KEPT_BYTES = 1024 * 1024;

/** A reader for one target. `prepare` treats its requests like the scenario's own. */
export function createReader(
  target: Target,
  prepare: (request: RequestDraft) => HttpRequest,
  options: { timeout_ms: number; insecure: boolean },
): Reader {
  return async (check) => {
    const { path, headers } = check;
    const request = prepare({ method: "GET", path, headers });
    const limits = { ...options, keep_bytes: KEPT_BYTES };
    return readingOf(check, await sendRequest(target, request, limits));
  };
}

/** Reads the effect of the request and compares it with the check. */
export async function readBack(
  check: Check,
  before: Reading | null,
  read: Reader,
): Promise<ReadBack> {
  const after = await read(check);
  const found = { path: check.path, pointer: check.pointer ?? null };
  for (const reading of before ? [before, after] : [after]) {
    if ("unreadable" in reading) {
      return { ...found, after: null, held: null, why: reading.unreadable };
    }
    if ("wrong" in reading) return { ...found, after: null, held: false, why: reading.wrong };
  }
  const [was, is] = [valueIn(before), valueIn(after)];
  const why = mistakeOf(check, was, is);
  const values = { ...(before ? { before: brief(was) } : {}), after: brief(is) };
  return { ...found, ...values, held: why === null, why };
}

/** Joins the verdict on the answer with the verdict on the effect. */
export function withReadBack(verdict: Verdict, { path, held, why }: ReadBack): Verdict {
  if (held === null) {
    const reason = `${verdict.reason}; the effect could not be read back: ${why}`;
    return { status: verdict.status === "passed" ? "inconclusive" : verdict.status, reason };
  }
  if (!held) {
    return { status: "failed", reason: `${verdict.reason}; but GET ${path} shows: ${why}` };
  }
  const yet = verdict.status === "failed"
    ? "yet the effect that was read back is right"
    : "read back: right";
  return { status: verdict.status, reason: `${verdict.reason}; ${yet}` };
}

function readingOf(check: Check, exchange: HttpExchange): Reading {
  const { status, error, body, body_bytes, headers } = exchange;
  if (error !== null) return { unreadable: error };
  const expected = check.expected_status || 0;
  if (expected > 0 && status !== expected) return { wrong: `answered ${status}, not ${expected}` };
  if (expected === 0 && !isSuccess(status)) {
    return { unreadable: `GET ${check.path} answered ${status}` };
  }
  if (check.pointer === undefined && check.equals === undefined && !isNumeric(check)) {
    return { value: status };
  }
  if (body_bytes > KEPT_BYTES) {
    return { unreadable: `GET ${check.path} answered more than 1 MiB` };
  }
  const coding = headers.find(([name]) => /^content-encoding$/i.test(name))?.[1];
  if (coding !== undefined && coding !== "identity") {
    return { unreadable: `GET ${check.path} answered in ${coding}, which was not asked for` };
  }
  try {
    const value = valueAt(JSON.parse(body), check.pointer ?? "");
    return value === undefined ? { unreadable: `there is no ${check.pointer}` } : { value };
  } catch {
    return { unreadable: `GET ${check.path} answered no JSON` };
  }
}

function isNumeric({ at_least, at_most, changes_by }: Check): boolean {
  return [at_least, at_most, changes_by].some((one) => one !== undefined);
}

function mistakeOf(check: Check, before: unknown, after: unknown): string | null {
  const { pointer = "", equals, at_least, at_most, changes_by } = check;
  const what = pointer || "the answer";
  const is = countOf(after);
  const by = is - countOf(before);
  const isEqual = typeof equals === "number"
    ? is === equals
    : equals !== undefined && isDeepStrictEqual(JSON.parse(JSON.stringify(equals)), after);
  const shown = JSON.stringify(brief(after));
  if (equals !== undefined && !isEqual) return `${what} is ${shown}, not ${JSON.stringify(equals)}`;
  if (isNumeric(check) && Number.isNaN(is)) return `${what} is ${shown}, which is no number`;
  if (at_least !== undefined && is < at_least) return `${what} is ${is}, less than ${at_least}`;
  if (at_most !== undefined && is > at_most) return `${what} is ${is}, more than ${at_most}`;
  if (changes_by !== undefined && !(Math.abs(by - changes_by) < 1e-9)) {
    const was = countOf(before);
    return `${what} changed by ${rounded(by)} from ${was} to ${is}, not by ${changes_by}`;
  }
  return null;
}

/** A number, a number written as a string (as money often is), or the length of a list. */
function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  return typeof value === "number" ? value : NaN;
}

function valueIn(reading: Reading | null): unknown {
  return reading && "value" in reading ? reading.value : undefined;
}

/** Shortens evidence for people: a list or an object is named by its kind. */
function brief(value: unknown): unknown {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : value;
}

function rounded(value: number): number {
  return Math.round(value * 1e9) / 1e9;
}
