import { posix } from "node:path";
import type { Question } from "../policy/grant.ts";
import type { Unit } from "../policy/interpret/unit.ts";
import { kindOf } from "./matching.ts";
import { checkRemember, type Rememberable } from "./remember.ts";

/** Suggested patterns for an action, the narrowest first. Each one matches the action. */
export function patternsFor(action: Rememberable): string[] {
  const { access } = action;
  if (access === null) return [];
  const found = kindOf(access) === "path" ? pathPatterns(action) : commandPatterns(action.question);
  return [...new Set(found)].filter((pattern) => covers(action, pattern));
}

/**
 * Sentences that say which actions a grant would allow, and what they leave open.
 * @param runs_own_code whether the command runs code that agents can change
 */
export function describeOffer(
  { access }: Pick<Rememberable, "access">,
  pattern: string | null,
  { runs_own_code }: { runs_own_code: boolean },
): string {
  const allowed = describeAllowed(access, pattern);
  return access === "run" && runs_own_code ? `${allowed}. ${OWN_CODE}` : allowed;
}

const OWN_CODE = "It runs code of the project, such as tests and scripts, and the agent can " +
  "change that code";

function describeAllowed(access: Rememberable["access"], pattern: string | null): string {
  if (pattern === null) return access === null ? EXACTLY.other : EXACTLY[access];
  if (access === "run") {
    return `Any command that runs "${pattern}" and nothing else that needs approval`;
  }
  const verb = { read: "Reading", write: "Writing", delete: "Deleting" }[access ?? "write"];
  return `${verb} any file that matches "${pattern}"`;
}

const EXACTLY = {
  run: "Exactly this command in this folder, while the scripts it runs are unchanged",
  read: "Reading exactly this file",
  write: "Exactly this change, while the file is unchanged",
  delete: "Deleting exactly this file, while it is unchanged",
  other: "Exactly this call, with the same input",
};

function covers(action: Rememberable, pattern: string): boolean {
  try {
    checkRemember(action, pattern);
    return true;
  } catch {
    return false; // too long for a pattern, or the action does more
  }
}

/** Patterns for the file, for files of its type in the folder, and for the folder. */
function pathPatterns({ path, question }: Rememberable): string[] {
  const [ask] = question.evaluation.asks;
  if (path === null || !ask?.about || !("path" in ask.about)) return [];
  const folder = posix.dirname(path);
  // A pattern without a folder would match that name in every folder.
  if (folder === "." || path.startsWith("/")) return [escape(ask.about.path.lexical)];
  const extension = posix.extname(path);
  return [
    escape(path),
    ...extension === "" ? [] : [`${escape(folder)}/*${escape(extension)}`],
    `${escape(folder)}/**`,
  ];
}

/** Patterns for the exact command, for any operands, and for any option values too. */
function commandPatterns({ evaluation: { asks, units } }: Question): string[] {
  const asked = asks.map(({ about }) => about && "unit" in about ? about.unit : null);
  const unit = asked.find((one) => one !== null) ?? units[0];
  if (!unit || unit.argv.some((word) => word === "" || word.includes("\n"))) return [];
  const { operands, options } = unit.read;
  const values = options.map(({ value }) => value).filter((value) => value !== null);
  return [
    unit.argv.map(escapeWord).join(" "),
    openPattern(unit, operands),
    openPattern(unit, [...operands, ...values]),
  ];
}

/** The command without these words, with a `*` at the end. Of equal words the last is removed. */
function openPattern({ argv }: Unit, without: readonly string[]): string {
  const left = [...without];
  const kept = argv.toReversed().filter((word) => {
    const at = left.lastIndexOf(word);
    if (at === -1) return true;
    left.splice(at, 1);
    return false;
  }).toReversed();
  return [...kept.map(escapeWord), "*"].join(" ");
}

function escape(text: string): string {
  return text.replace(/[\\*?[\]{}]/g, "\\$&");
}

/** In a command pattern spaces, quotes and bars are special too. */
function escapeWord(word: string): string {
  return word.replace(/[\\*?[\]{}\s|"']/g, "\\$&");
}
