import type { Effect, Rule } from "../../server/policy/schema.ts";
import { Icon, type IconName } from "../parts/icon.tsx";

const WORDS: Record<Effect, { icon: IconName; word: string; tone: string }> = {
  allow: { icon: "allowed", word: "allows", tone: "ok" },
  ask: { icon: "clock", word: "asks", tone: "info" },
  deny: { icon: "ban", word: "denies", tone: "danger" },
};

/** Where a rule comes from, in words. */
export const SOURCES: Record<Rule["source"], string> = {
  builtin: "Built in",
  global: "This machine",
  project: "This project",
  "auto-block": "Automatic block",
};

/** An effect in one word; nothing where it is unknown. */
export function EffectBadge({ effect }: { effect: Effect | null }) {
  if (effect === null) return null;
  const { icon, word, tone } = WORDS[effect];
  return (
    <span class={`badge tone-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}

/** The effect of the rules in a list: `blockedPaths` denies; null for a builtin list, which may do both. */
export function effectOf(list: string): Effect | null {
  if (list.startsWith("blocked")) return "deny";
  if (list.startsWith("allowed")) return "allow";
  return list.startsWith("ask") ? "ask" : null;
}

/** A rule as one text, which the list of actions takes as a filter too. */
export function keyOf({ source, list, pattern }: Rule): string {
  return `${source}/${list}/${pattern}`;
}

/** How pages call a rule: by its pattern; a built-in one has a name, because nobody wrote its pattern. */
export function nameOfRule(
  { source, list, pattern }: { source: string | null; list: string | null; pattern: string },
): string {
  return (source === "builtin" ? list : null) ?? pattern;
}
