import type { Read } from "./grammar.ts";

/** One program that would run, with its arguments; what is not known is a hole. */
export interface Unit {
  argv: string[];
  read: Read;
  /** The pipelines it stands in, with its place in each. */
  pipes: readonly { pipeline: number; stage: number }[];
  /** It only starts another unit, or does nothing by itself: an allow rule need not name it. */
  passive: boolean;
  /** It stands in text that may or may not be run: a rule that matches holds it, no more. */
  supposed: boolean;
  /** It stands in the script of a task, for which whatever starts the task answers. */
  task: boolean;
  /** The part of the text it was found in. */
  text: string;
}

/** A file that would be touched; the path is absolute where the folder is known. */
export interface Effect {
  op: "read" | "write" | "delete";
  path: string;
  /** The part of the text it was found in. */
  text: string;
  /** Only under a condition that nobody can see from the text, such as a `cd` that fails. */
  uncertain?: boolean;
  /** Not written by name: a folder's entry that follows from another effect. */
  implied?: boolean;
  /** Only by the look of an argument: a rule that forbids it holds it, and no more. */
  guessed?: boolean;
}

/** Why a command is held although no rule speaks of it. */
export interface Doubt {
  reason: string;
  /** The part of the text that is meant, for a person to find it. */
  text: string;
}

/** What one command would run and touch. */
export interface CommandAnalysis {
  units: Unit[];
  effects: Effect[];
  doubts: Doubt[];
  /** Parts whose value nobody can know from the text. */
  unresolved: string[];
  /** A part of it is started with `&`, and may outlive it. */
  goes_on: boolean;
}
