import { builtin, type Finding } from "./finding.ts";
import { isStatic } from "./holes.ts";

const LOOPBACK = /^https?:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?(\/|$)/i;
const LIST = "self-protection";

/**
 * What the scenario tool does beyond sending requests to this machine is never automatic: scenario
 * files and settings in the folder can name programs to run and files to write.
 */
export function protectScenarios(name: string, argv: readonly string[]): Finding[] {
  const words = name.startsWith("scenario-tool") ? argv.slice(1) : wordsAfter(argv, "scenario");
  if (words === null || !words.some((word) => word === "run" || word === "list")) return [];
  const asks = (pattern: string, reason: string) => [builtin("ask", LIST, pattern, reason)];
  if (words.includes("run") && !words.some((_, at) => isFlag(words, at, "--only-requests"))) {
    const reason = "Scenarios may run programs that nobody has judged (--only-requests runs none)";
    return asks("scenario run", reason);
  }
  if (words.some((word) => word.startsWith("--from-help"))) {
    return asks("scenario list --from-help", "It runs a program to read its help");
  }
  if (!words.includes("run") || staysHere(words)) return [];
  return asks("scenario run --target", "It may send test requests to another machine");
}

function wordsAfter(argv: readonly string[], word: string): readonly string[] | null {
  const at = argv.indexOf(word);
  return at === -1 ? null : argv.slice(at + 1);
}

/** Without a target the environment or a settings file may name one; whichever counts is one here. */
function staysHere(words: readonly string[]): boolean {
  const named = words.flatMap((word, at) => {
    if (word === "--target") return [words[at + 1] ?? ""];
    return word.startsWith("--target=") ? [word.slice("--target=".length)] : [];
  });
  return words.some((_, at) => isFlag(words, at, "--target")) &&
    named.every((target) => LOOPBACK.test(target));
}

/** Options that take no value from the next word. */
const PLAIN = new Set(["--only-requests", "--insecure", "--bail"]);

/** Whether the tool reads the word as that option: it may be another one's value, or after `--`. */
function isFlag(words: readonly string[], at: number, flag: string): boolean {
  const word = words[at]!;
  if (word !== flag && !word.startsWith(`${flag}=`)) return false;
  const before = words[at - 1] ?? "";
  const isFree = !before.startsWith("-") || /^--[\w-]+=/.test(before) || PLAIN.has(before);
  return isFree && isStatic(before) && !words.slice(0, at).includes("--");
}
