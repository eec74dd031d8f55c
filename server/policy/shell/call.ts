import type { Shell } from "./state.ts";
import type { Effect } from "./unit.ts";

/** One command as it is called: what it is given and where it stands. */
export interface Call {
  shell: Shell;
  /** What it can read, with holes for what is not known. */
  stdin: string;
  /** The pipelines it stands in, with its place in each. */
  pipes: readonly { pipeline: number; stage: number }[];
  depth: number;
  /** It runs on another machine or in a container: its files are not ours. */
  remote: boolean;
  /** It is only supposed to run: a rule that matches it holds, and nothing else is asked of it. */
  supposed: boolean;
  /** It stands in the project's own files (a task): only rules that certainly match are asked. */
  task: boolean;
  /** The part of the text it comes from. */
  text: string;
}

/** What the tables of programs may ask of the interpreter. */
export interface Runner {
  /** Runs shell code; what it prints. Code that is not fully known is a doubt. */
  code(text: string, call: Call): string;
  /** Runs a program with its arguments; what it prints. */
  command(argv: readonly string[], call: Call): string;
  /** Notes a program that would run, without looking into it. */
  note(argv: readonly string[], call: Call, passive?: boolean): void;
  touch(op: Effect["op"], path: string, call: Call, how?: Partial<Effect>): void;
  doubt(reason: string, text: string, call: Call): void;
  /** Text that bash may evaluate a second time. */
  reevaluate(text: string, call: Call): void;
  /** What a file is known to hold. */
  content(path: string, call: Call): string | null;
  /** The text of a task of the project (`npm run build`). */
  script(name: string, call: Call): string | null;
}

/** What a program does with its call; what it prints, `ANY` when nobody knows. */
export type Handler = (argv: readonly string[], call: Call, run: Runner) => string;
