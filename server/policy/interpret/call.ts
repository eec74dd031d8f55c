import type { Below } from "../below.ts";
import type { Shell } from "./state.ts";
import type { Effect, Unknown } from "./unit.ts";

/** The circumstances in which one command runs. */
export interface Call {
  shell: Shell;
  /** Its standard input; unknown parts are holes. */
  stdin: string;
  /** The file that is its standard input, if a redirect names one. */
  source?: string | null;
  /** The pipelines that contain it, with its stage in each. */
  pipes: readonly { pipeline: number; stage: number }[];
  depth: number;
  /** It runs on another machine or in a container, so its files do not count. */
  remote: boolean;
  /** The text may not be code: a rule that matches it only asks, and its effects do not count. */
  supposed: boolean;
  /**
   * A program that gate does not know may run it: its effects count, and rules about them ask. Doubts
   * count in commands that its words spell, not in a text that may be no code.
   */
  guessed?: "words" | "text";
  /** It comes from a project task: only rules that certainly match apply. */
  task: boolean;
  /** Its words that may become several stand twice; the command with each of them once runs too. */
  repeated?: boolean;
  /** The part of the command that contains it. */
  text: string;
  /** The files that `find` passes to it as this path. */
  found?: { path: string; below: Below };
}

/** The functions that a handler of a program may call. */
export interface Runner {
  /** Runs shell code and returns its output. Partly unknown code records a doubt. */
  code(text: string, call: Call): string;
  /** Runs a program with its arguments and returns its output. */
  command(argv: readonly string[], call: Call): string;
  /** Counts work. @throws Overload beyond the bound */
  spend(work: number): void;
  /** Records a program that runs, without following it. */
  note(argv: readonly string[], call: Call, passive?: boolean): void;
  touch(op: Effect["op"], path: string, call: Call, how?: Partial<Effect>): void;
  doubt(reason: string, text: string, call: Call, unknown?: Unknown): void;
  /** Records text that bash may evaluate a second time. */
  reevaluate(text: string, call: Call): void;
  /** The content of a file, if it is known. */
  content(path: string, call: Call): string | null;
  /** The text of a project task (`npm run build`), if it exists. */
  script(name: string, call: Call): string | null;
}

/**
 * Runs a program, and once more with the words twice that may become several: the first of them may
 * be a pattern, a value or a target, and the next one a file. Returns the output.
 */
export function runSeveral(
  argv: readonly string[],
  mayBeSeveral: (word: string) => boolean,
  call: Call,
  run: Runner,
): string {
  const twice = argv.flatMap((word, at) => at > 0 && mayBeSeveral(word) ? [word, word] : [word]);
  if (twice.length > argv.length) {
    run.command(twice, { ...call, shell: call.shell.fork(), repeated: true });
  }
  return run.command(argv, call);
}

/** Records what a program does and returns its output, or `ANY` if the output is unknown. */
export type Handler = (argv: readonly string[], call: Call, run: Runner) => string;
