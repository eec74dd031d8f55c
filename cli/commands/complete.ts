import { Argument, Command } from "@commander-js/extra-typings";
import type { Tree } from "../commands.ts";
import { type Candidate, complete } from "../completion/candidates.ts";
import { FILES, SHELLS } from "../completion/scripts.ts";
import { askDaemonFor } from "../completion/values.ts";
import { examples } from "../help.ts";
import type { Io } from "../io.ts";
import { print } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/** `gate complete`: what the completion of a shell asks at each press of the key. */
export function createCommand(io: Io, tree: Tree) {
  return new Command("complete")
    .description("Print what completes a command line, a line each; shells ask this.")
    .addArgument(new Argument("<shell>", "who asks").choices(SHELLS))
    .argument("[words...]", "what stands before the cursor, without gate itself")
    .option("--current <word>", "the word that is being typed", "")
    .addHelpText("after", examples("gate complete bash --current=app --"))
    .action(async (shell, given, { current: typed }) => {
      const { words, current, cut } = shell === "bash" ? joined(given, typed) : asIs(given, typed);
      const meant = words.find((word) => !word.startsWith("-") && word !== "help");
      const program = await tree((name) => name === meant);
      const ask = (name: string) => askDaemonFor(io, name);
      const { candidates, files } = await complete(program, { words, current }, ask);
      for (const candidate of candidates) print(io, lineOf(candidate, cut));
      if (files) print(io, FILES);
    });
}

interface Typed {
  words: string[];
  current: string;
  /** How much of a value the shell takes for a word before it. */
  cut: number;
}

function asIs(words: string[], current: string): Typed {
  return { words, current, cut: 0 };
}

/** bash takes the `=` of `--name=value` for a word of its own. */
function joined(given: string[], typed: string): Typed {
  const words: string[] = [];
  for (const word of [...given, typed]) {
    const before = words.at(-1);
    const belongs = before?.startsWith("--") &&
      (word === "=" || (before.endsWith("=") && word !== ""));
    if (belongs) words[words.length - 1] = before + word;
    else words.push(word);
  }
  // Nothing has been typed after the "=" yet.
  if (typed === "" && words.at(-2)?.startsWith("--") && words.at(-2)?.endsWith("=")) words.pop();
  const current = words.pop() ?? "";
  const at = current.startsWith("--") ? current.indexOf("=") : -1;
  return { words, current, cut: at < 0 || given.at(-1) === undefined ? 0 : at + 1 };
}

function lineOf({ value, description }: Candidate, cut: number): string {
  const text = description === "" ? "" : `\t${visibleLine(description)}`;
  return `${value.slice(cut)}${text}`;
}
