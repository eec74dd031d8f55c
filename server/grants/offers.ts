import { posix } from "node:path";
import type { Question } from "../policy/grant.ts";
import type { Unit } from "../policy/shell/unit.ts";
import { kindOf } from "./answering.ts";
import { checkRemember, type Rememberable } from "./remember.ts";

/** The patterns that suggest themselves for an action, the narrowest first; each covers it. */
export function patternsFor(action: Rememberable): string[] {
  const { access } = action;
  if (access === null) return [];
  const found = kindOf(access) === "path" ? pathPatterns(action) : commandPatterns(action.question);
  return [...new Set(found)].filter((pattern) => covers(action, pattern));
}

/** What a way to remember would allow, in words. */
export function describeOffer(access: Rememberable["access"], pattern: string | null): string {
  if (pattern === null) return access === null ? EXACTLY.other : EXACTLY[access];
  if (access === "run") {
    return `Any command that runs "${pattern}" and nothing else that would be asked about`;
  }
  const verb = { read: "Reading", write: "Writing", delete: "Deleting" }[access ?? "write"];
  return `${verb} any file that "${pattern}" names`;
}

const EXACTLY = {
  run: "Exactly this command in this folder, as long as the scripts it runs stay as they are",
  read: "Reading exactly this file",
  write: "Exactly this: the same change to a file that is as it was",
  delete: "Exactly this: deleting a file that is as it was",
  other: "Exactly this, with the very same input",
};

function covers(action: Rememberable, pattern: string): boolean {
  try {
    checkRemember(action, pattern);
    return true;
  } catch {
    return false; // too long for a pattern, or not all that is done
  }
}

/** The file with any content, its kind in the folder, the folder. */
function pathPatterns({ path, question }: Rememberable): string[] {
  const [ask] = question.evaluation.asks;
  if (path === null || !ask?.about || !("path" in ask.about)) return [];
  const folder = posix.dirname(path);
  // A name without a folder would mean that name everywhere.
  if (folder === "." || path.startsWith("/")) return [escape(ask.about.path.lexical)];
  const extension = posix.extname(path);
  return [
    escape(path),
    ...extension === "" ? [] : [`${escape(folder)}/*${escape(extension)}`],
    `${escape(folder)}/**`,
  ];
}

/** The program with its arguments, with any operands, and with any values of its options too. */
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

/** The program with all of its words but those, the last of equals; more may follow. */
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

/** In a command pattern blanks, quotes and bars have a meaning too. */
function escapeWord(word: string): string {
  return word.replace(/[\\*?[\]{}\s|"']/g, "\\$&");
}
