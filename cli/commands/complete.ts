import { Argument, Command } from "@commander-js/extra-typings";
import { type Candidate, complete } from "../completion/candidates.ts";
import { FILES, SHELLS } from "../completion/scripts.ts";
import { valuesOf } from "../completion/values.ts";
import { examples } from "../options.ts";
import type { Io, Tree } from "../io.ts";
import { print } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate complete`: the completions for a command line, for the scripts of `gate completion`. */
export function createCommand(io: Io, tree: Tree) {
  return new Command("complete")
    .description("Print the completions for a command line, one a line; shell scripts call this.")
    .addArgument(new Argument("<shell>", "the shell that calls").choices(SHELLS))
    .argument("[words...]", "the words before the cursor, without gate itself")
    .option("--current <word>", "the word at the cursor", "")
    .addHelpText("after", examples("gate complete bash --current=app --"))
    .action(async (shell, given, { current: typed }) => {
      const { words, current, cut } = shell === "bash" ? joined(given, typed) : asIs(given, typed);
      const called = words.find((word) => !word.startsWith("-") && word !== "help");
      const program = await tree((name) => name === called);
      const listValues = (name: string) => valuesOf(io, name);
      const { candidates, files } = await complete(program, { words, current }, listValues);
      for (const candidate of candidates) print(io, lineOf(candidate, cut));
      if (files) print(io, FILES);
    });
}

interface Typed {
  words: string[];
  current: string;
  /** The number of leading characters that the shell treats as a separate, earlier word. */
  cut: number;
}

function asIs(words: string[], current: string): Typed {
  return { words, current, cut: 0 };
}

/** Joins `--name=value` again: bash passes the `=` as a word of its own. */
function joined(given: string[], typed: string): Typed {
  const words: string[] = [];
  for (const word of [...given, typed]) {
    const before = words.at(-1);
    const belongs = before?.startsWith("--") &&
      (word === "=" || (before.endsWith("=") && word !== ""));
    if (belongs) words[words.length - 1] = before + word;
    else words.push(word);
  }
  // The cursor is directly after the "=".
  if (typed === "" && words.at(-2)?.startsWith("--") && words.at(-2)?.endsWith("=")) words.pop();
  const current = words.pop() ?? "";
  const at = current.startsWith("--") ? current.indexOf("=") : -1;
  return { words, current, cut: at < 0 || given.at(-1) === undefined ? 0 : at + 1 };
}

function lineOf({ value, description }: Candidate, cut: number): string {
  const text = description === "" ? "" : `\t${visibleLine(description)}`;
  return `${value.slice(cut)}${text}`;
}
