import { DEFAULT_LIMITS, LISTS, strictestLimit } from "../policy/merge.ts";
import { DEFAULT_SANDBOX, reachOf } from "../policy/sandbox.ts";
import { tightensRisk } from "../policy/risk_weights.ts";
import {
  Effect,
  type Policies,
  type PolicyEntry,
  RiskConfig,
  type SandboxPolicy,
} from "../policy/schema.ts";
import { type ConfigDifference, GlobalConfig, ProjectConfig } from "./schema.ts";

/** The values of a project's or the machine's config. */
export type ConfigValue = ProjectConfig | GlobalConfig;

type List = keyof typeof LISTS;
const LIST_NAMES = Object.keys(LISTS) as List[];
const LIMITS = Object.keys(DEFAULT_LIMITS) as (keyof typeof DEFAULT_LIMITS)[];

/** The keys of a config outside `policies` that change no decision. */
const WITHOUT_EFFECT = new Set(["id", "extends", "version", "platforms"]);
const KNOWN = new Set([...Object.keys(ProjectConfig.shape), ...Object.keys(GlobalConfig.shape)]);

/**
 * The differences between two versions of a config, each with whether it holds at once. A
 * difference that may let more happen than before waits for a person. `others` are the policies
 * that are merged with it.
 */
export function compareConfigs(
  before: ConfigValue,
  after: ConfigValue,
  others: readonly (Policies | null | undefined)[] = [],
): ConfigDifference[] {
  const { policies: { sandbox: oldSandbox = {}, ...old } = {}, ...oldRest } = before;
  const { policies: { sandbox: nowSandbox = {}, ...now } = {}, ...nowRest } = after;
  const denies = [old, now, ...others].some((one) => one?.defaultEffect === "deny");
  return [
    ...LIST_NAMES.flatMap((list) => compareList(list, old, now, denies)),
    ...compareKeys(old, now, (key) => !Object.hasOwn(LISTS, key), holdsInPolicies),
    ...compareKeys(oldSandbox, nowSandbox, () => true, holdsInSandbox)
      .map((one) => ({ ...one, key: `sandbox.${one.key}` })),
    ...compareKeys(oldRest, nowRest, () => true, holdsOutside),
  ];
}

/** Whether the change lets nothing happen that was held or blocked before. */
export function onlyTightens(differences: readonly ConfigDifference[]): boolean {
  return differences.every(({ in_force }) => in_force);
}

function compareList(
  list: List,
  old: Policies,
  now: Policies,
  denies: boolean,
): ConfigDifference[] {
  const [had, has] = [entriesOf(old[list]), entriesOf(now[list])];
  const allows = LISTS[list].effect === "allow";
  const added = [...has].filter(([key]) => !had.has(key)).map(([, entry]) =>
    difference("added", list, textOf(entry), !allows && tightens(entry, LISTS[list].effect, denies))
  );
  const removed = [...had].filter(([key]) => !has.has(key)).map(([, entry]) =>
    difference("removed", list, textOf(entry), allows)
  );
  const kept = [...has].filter(([key, entry]) =>
    had.has(key) && JSON.stringify(had.get(key)) !== JSON.stringify(entry)
  ).map(([, entry]) => difference("changed", list, textOf(entry), true));
  return [...added, ...removed, ...kept];
}

/**
 * Whether one more rule that asks or denies only tightens. A rule that asks weakens a default that
 * denies, and a rule that names a file outside the project makes it askable.
 */
function tightens(entry: PolicyEntry, effect: Effect, denies: boolean): boolean {
  if (effect === "deny") return true;
  return !denies && !/(^|[{,])[/~]/.test(typeof entry === "string" ? entry : entry.pattern);
}

/** The entries by what they match. Their reasons and examples change no decision. */
function entriesOf(entries: readonly PolicyEntry[] = []): Map<string, PolicyEntry> {
  return new Map(entries.map((entry) => {
    const whole = typeof entry === "string" ? { pattern: entry } : entry;
    const { reason: _, alternative: __, match: ___, not_match: ____, ...effective } = whole;
    const sorted = Object.entries(effective).toSorted(([a], [b]) => a < b ? -1 : 1);
    return [JSON.stringify(sorted), entry];
  }));
}

function compareKeys(
  old: Record<string, unknown>,
  now: Record<string, unknown>,
  isWanted: (key: string) => boolean,
  holds: (key: string, before: unknown, after: unknown) => boolean,
): ConfigDifference[] {
  const keys = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...keys].filter(isWanted).flatMap((key) => {
    const [had, has] = [show(old[key]), show(now[key])];
    if (had === has) return [];
    return [difference("changed", key, `${had} → ${has}`, holds(key, old[key], now[key]))];
  });
}

/** A key of `policies` that this release does not know waits, because a newer one may read it. */
function holdsInPolicies(key: string, before: unknown, after: unknown): boolean {
  if (key === "risk") {
    const [old, now] = [before, after].map((one) => RiskConfig.optional().safeParse(one));
    return old!.success && now!.success && tightensRisk(old!.data, now!.data);
  }
  if (key === "defaultEffect") return rankOf(after) >= rankOf(before);
  if (!LIMITS.includes(key as typeof LIMITS[number]) || typeof after !== "number") return false;
  const limit = key as typeof LIMITS[number];
  const old = typeof before === "number" ? before : DEFAULT_LIMITS[limit];
  return strictestLimit(limit, [old, after]) === after;
}

/**
 * Whether a change of the sandbox lets a command reach no more, with no fewer questions. Without a
 * value of its own, a config leaves the choice to the one that is merged with it.
 */
function holdsInSandbox(key: string, before: unknown, after: unknown): boolean {
  switch (key as keyof SandboxPolicy) {
    case "mode":
      return (before ?? "auto") === "auto" || (before === "always" && after === "review");
    case "network":
      return after !== undefined &&
        reachOf(after as SandboxPolicy["network"]) <=
          reachOf(before as SandboxPolicy["network"] ?? DEFAULT_SANDBOX.network);
    case "hosts":
    case "writable":
      return Array.isArray(after) && after.every((one) => (before as string[] ?? []).includes(one));
    default:
      return false;
  }
}

/** Without a default of its own, a config is laxer than `ask` beside one that says `allow`. */
function rankOf(effect: unknown): number {
  const known = Effect.safeParse(effect);
  return known.success ? { allow: 0, ask: 1, deny: 2 }[known.data] : 0.5;
}

/** A key that no release reads has no effect. One that this release reads waits unless listed. */
function holdsOutside(key: string, before: unknown, after: unknown): boolean {
  if (key === "retention") return daysOf(after) >= daysOf(before);
  return WITHOUT_EFFECT.has(key) || !KNOWN.has(key);
}

/** How long contents are kept. */
function daysOf(retention: unknown): number {
  const { days } = (retention ?? {}) as NonNullable<GlobalConfig["retention"]>;
  return days ?? Infinity;
}

const MAX_TEXT = 2_000;

function difference(
  kind: ConfigDifference["kind"],
  key: string,
  text: string,
  in_force: boolean,
): ConfigDifference {
  const left = text.length - MAX_TEXT;
  const shown = left > 0 ? `${text.slice(0, MAX_TEXT)}… [${left} more characters]` : text;
  return { kind, key, text: shown, in_force };
}

function textOf(entry: PolicyEntry): string {
  if (typeof entry === "string") return entry;
  const { pattern, ...more } = entry;
  const { reason: _, alternative: __, ...rest } = more;
  return Object.keys(rest).length === 0 ? pattern : `${pattern} ${JSON.stringify(rest)}`;
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
