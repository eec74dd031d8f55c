import type {
  PolicyReplayPage,
  ReplayCounts,
  ReplayedAction,
  RuleReplay,
  Unjudged,
} from "../../server/trials/schema.ts";
import type { Io } from "../io.ts";
import { paint } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

const MOST_EXAMPLES = 3;
const SHOWN_RULES = 12;

/** All pages of a replay, added up. */
export interface Replay {
  since: string;
  checked: number;
  totals: ReplayCounts;
  rules: RuleReplay[];
  unjudged: Unjudged[];
}

/** A replay that has not begun. */
export function emptyReplay(since: string): Replay {
  return { since, checked: 0, totals: { ...NOTHING }, rules: [], unjudged: [] };
}

/** Adds a page to what has been counted. */
export function addPage(replay: Replay, page: PolicyReplayPage): void {
  replay.checked += page.checked;
  sum(replay.totals, page.totals);
  for (const one of page.rules) {
    const known = replay.rules.find(({ rule }) => sameText(rule, one.rule));
    if (!known) replay.rules.push(one);
    else {
      sum(known, one);
      known.examples = [...known.examples, ...one.examples].toSorted(rejectedFirst)
        .slice(0, MOST_EXAMPLES);
    }
  }
  for (const one of page.unjudged) {
    const known = replay.unjudged.find(({ why }) => why === one.why);
    if (known) known.count += one.count;
    else replay.unjudged.push(one);
  }
  replay.rules.sort((a, b) => weight(b) - weight(a));
}

/** The replay for a person: the sums, each rule with examples, what could not be judged. */
export function describeReplay(io: Io, replay: Replay): string {
  const { totals, checked, rules, unjudged, since } = replay;
  const lines = [
    `${checked} recorded actions since ${since.slice(0, 10)} asked about again`,
    `  newly blocked  ${totals.newly_blocked}`,
    `  newly asked    ${totals.newly_asked}`,
    `  newly allowed  ${totals.newly_allowed}`,
    `  prompts saved  ${totals.prompts_saved}`,
  ];
  if (totals.rejected_now_allowed > 0) {
    const said = `${totals.rejected_now_allowed} that a person rejected would be allowed`;
    lines.push(paint(io, "red", `  ${said}`));
  }
  for (const { why, count } of unjudged) lines.push(`  not judged     ${count}: ${why}`);
  for (const one of rules.slice(0, SHOWN_RULES)) lines.push("", ...describeRule(one));
  const more = rules.length - SHOWN_RULES;
  if (more > 0) lines.push("", `… ${more} more rules (--json)`);
  return lines.join("\n");
}

function describeRule({ rule, examples, ...counts }: RuleReplay): string[] {
  const name = rule
    ? `${visibleLine(rule.pattern)}  (${rule.source} ${rule.list})`
    : "no rule any more: the default";
  const changes = NAMES.filter((one) => counts[one] > 0)
    .map((one) => `${counts[one]} ${one.replaceAll("_", " ")}`);
  return [name, `  ${changes.join(", ")}`, ...examples.map(describeExample)];
}

function describeExample({ id, what, was, now, status }: ReplayedAction): string {
  const then = status === "rejected" ? `${was}, rejected` : was;
  return `  ${id}  ${then} → ${now}  ${visibleLine(what).slice(0, 100)}`;
}

const NOTHING: ReplayCounts = {
  newly_blocked: 0,
  newly_asked: 0,
  newly_allowed: 0,
  prompts_saved: 0,
  rejected_now_allowed: 0,
};
const NAMES = Object.keys(NOTHING) as (keyof ReplayCounts)[];

function sum(to: ReplayCounts, more: ReplayCounts): void {
  for (const name of NAMES) to[name] += more[name];
}

function weight(counts: ReplayCounts): number {
  return counts.newly_blocked + counts.newly_asked + counts.newly_allowed;
}

function sameText(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function rejectedFirst(a: ReplayedAction, b: ReplayedAction): number {
  return Number(b.status === "rejected") - Number(a.status === "rejected");
}
