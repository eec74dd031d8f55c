import type { Effect, Policies } from "../../server/policy/schema.ts";
import { patternOf } from "../../server/policy/templates.ts";
import { readConfig } from "../config_file.ts";
import { count } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** One line of a summary: a word, and what it is about. */
type Line = [word: string, text: string];

/** The rules of a new config on a few lines: what is blocked, what asks, what is allowed. */
export function summarizeRules(text: string, file: string): Line[] {
  const policies = (readConfig(text, file).policies ?? {}) as Policies;
  const lists = LISTS.flatMap(({ word, keys }) =>
    keys.flatMap(({ key, noun }) => {
      const patterns = (policies[key] ?? []).map(patternOf);
      return patterns.length === 0 ? [] : [[word, describe(patterns, noun)] as Line];
    })
  );
  const shown = lists.map((
    [word, line],
    i,
  ): Line => [word === lists[i - 1]?.[0] ? "" : word, line]);
  return [...shown, ["the rest", EFFECTS[policies.defaultEffect ?? "ask"]]];
}

const MOST_NAMED = 6;

function describe(patterns: readonly string[], noun: string): string {
  const left = patterns.length - MOST_NAMED;
  const named = patterns.slice(0, MOST_NAMED).map(visibleLine).join(", ");
  return `${count(patterns.length, noun)}: ${named}${left > 0 ? ` and ${left} more` : ""}`;
}

const LISTS = [
  ["blocked", "blockedPaths", "blockedCommands", "blockedTools"],
  ["asks you", "askPaths", "askCommands", "askTools"],
  ["allowed", "allowedPaths", "allowedCommands", "allowedTools"],
].map(([word, paths, commands, tools]) => ({
  word: word!,
  keys: [
    { key: paths as "blockedPaths", noun: "path" },
    { key: commands as "blockedCommands", noun: "command" },
    { key: tools as "blockedTools", noun: "tool" },
  ],
}));

const EFFECTS: Record<Effect, string> = {
  allow: "is allowed",
  ask: "asks you first",
  deny: "is denied",
};
