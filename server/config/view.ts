import { statSync } from "node:fs";
import { userInfo } from "node:os";
import type { z } from "zod";
import { LISTS } from "../policy/merge.ts";
import type { Policies, PolicyEntry } from "../policy/schema.ts";
import { type Loaded, parseConfig } from "./load.ts";
import { describeUnknown } from "./misspelt.ts";
import type { OutsideVersion } from "./pin.ts";
import {
  type ConfigDifference,
  type ConfigProblem,
  type GlobalConfig,
  type OutsideChange,
  ProjectConfig,
} from "./schema.ts";

const MAX_DIFFERENCES = 100;

/** The effect of a change outside the gate on the rules. */
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
    differences: all?.slice(0, MAX_DIFFERENCES) ?? null,
  };
}

type Read = z.infer<typeof ProjectConfig>;

/** Null when the text was not kept or is invalid. */
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

/** The owner of the file. The gate cannot know who wrote it. */
function ownerOf(path: string): string | null {
  try {
    const { uid } = statSync(path);
    const me = userInfo();
    return uid === me.uid ? me.username : `user ${uid}`;
  } catch {
    return null;
  }
}

/** The beginning of every error about an unusable config. */
export const UNTIL_FIXED = "Everything is denied until the config is fixed: ";

/** Splits the error of a config into its parts: `…: file:line:column: cause`. */
export function toProblem(error: string): ConfigProblem {
  const text = error.startsWith(UNTIL_FIXED) ? error.slice(UNTIL_FIXED.length) : error;
  const [, path, line, column, cause] = /^(.+?):(\d+):(\d+): ([\s\S]+)$/.exec(text) ?? [];
  const next = "Fix the file and save it: the gate then reads it again";
  if (!path) return { path: null, line: null, column: null, cause: text, next };
  return { path, line: Number(line), column: Number(column), cause: cause!, next };
}

/** The config files of a project, and the state of its `overrideGlobal`. */
export interface Configs {
  project: Loaded<ProjectConfig>;
  global: Loaded<GlobalConfig>;
  override: "off" | "untrusted" | "trusted";
}

/** The warnings about a valid config. */
export function warningsOf(
  { project, global, override }: Configs,
  id: string,
): string[] {
  const warnings = [
    ...project.unknown.map((one) => describeUnknown(one, "gate.config.json")),
    ...global.unknown.map((one) => describeUnknown(one, "this machine's config.json")),
  ].filter((warning) => warning !== null);
  if (project.value && project.value.id === undefined) {
    warnings.push(
      `gate.config.json has no "id": this still works but is deprecated; add "id": "${id}"`,
    );
  }
  if (override === "untrusted") {
    warnings.push(
      `"overrideGlobal" is ignored until a person trusts it here: gate project trust-override ${id}`,
    );
  }
  return warnings;
}
