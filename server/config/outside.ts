import { statSync } from "node:fs";
import { userInfo } from "node:os";
import type { z } from "zod";
import { LISTS } from "../policy/merge.ts";
import type { Policies, PolicyEntry } from "../policy/schema.ts";
import { parseConfig } from "./load.ts";
import type { OutsideVersion } from "./pin.ts";
import { type ConfigDifference, type OutsideChange, ProjectConfig } from "./schema.ts";

const MOST_DIFFERENCES = 100;

/** What a change that did not come through the gate did to the rules. */
export function describeOutside(
  path: string,
  { at, before, after }: OutsideVersion,
): OutsideChange {
  const [old, now] = [readText(path, before.text), readText(path, after.text)];
  const all = old && now ? [...policyChanges(old, now), ...otherChanges(old, now)] : null;
  return {
    path,
    at,
    by: ownerOf(path),
    before_sha256: before.sha256 || null,
    after_sha256: after.sha256,
    differences: all?.slice(0, MOST_DIFFERENCES) ?? null,
  };
}

type Read = z.infer<typeof ProjectConfig>;

/** Null where the text was not kept or cannot be read. */
function readText(path: string, text: string | null): Read | null {
  if (text === null) return null;
  return text === "" ? {} : parseConfig(path, text, ProjectConfig).value;
}

function policyChanges(old: Read, now: Read): ConfigDifference[] {
  const [before, after]: [Policies, Policies] = [old.policies ?? {}, now.policies ?? {}];
  const lists = Object.keys(LISTS) as (keyof typeof LISTS)[];
  const entries = lists.flatMap((key) => {
    const [had, has] = [(before[key] ?? []).map(toText), (after[key] ?? []).map(toText)];
    return [
      ...has.filter((one) => !had.includes(one)).map((text) => difference("added", key, text)),
      ...had.filter((one) => !has.includes(one)).map((text) => difference("removed", key, text)),
    ];
  });
  return [...entries, ...keyChanges(before, after, lists)];
}

function otherChanges({ policies: _, ...old }: Read, { policies: __, ...now }: Read) {
  return keyChanges(old, now, []);
}

function keyChanges(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  without: readonly string[],
): ConfigDifference[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => !without.includes(key)).flatMap((key) => {
    const [had, has] = [show(before[key]), show(after[key])];
    return had === has ? [] : [difference("changed", key, `${had} → ${has}`)];
  });
}

function difference(kind: ConfigDifference["kind"], key: string, text: string): ConfigDifference {
  return { kind, key, text: text.slice(0, 400) };
}

function toText(entry: PolicyEntry): string {
  if (typeof entry === "string") return entry;
  const { pattern, ...more } = entry;
  const { reason: _, alternative: __, ...rest } = more;
  return Object.keys(rest).length === 0 ? pattern : `${pattern} ${JSON.stringify(rest)}`;
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

/** Whose file it is: more is not known of who wrote it. */
function ownerOf(path: string): string | null {
  try {
    const { uid } = statSync(path);
    const me = userInfo();
    return uid === me.uid ? me.username : `user ${uid}`;
  } catch {
    return null;
  }
}
