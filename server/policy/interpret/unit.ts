import type { Below } from "../below.ts";
import type { Read } from "../programs/grammar.ts";
import type { Tracked } from "../tracked.ts";

/** One program that runs, with its arguments; unknown parts are holes. */
export interface Unit {
  argv: string[];
  /** All its words, with a zero byte between them. */
  spelled: string;
  read: Read;
  /** The pipelines that contain it, with its stage in each. */
  pipes: readonly { pipeline: number; stage: number }[];
  /** It only starts another unit or does nothing, so no allow rule has to name it. */
  passive: boolean;
  /** It comes from text that may not be code: a rule that matches it only asks. */
  supposed: boolean;
  /** It comes from the script of a project task; the rule for the task covers it. */
  task: boolean;
  /** The possible current folders. */
  folders: readonly string[];
  /** The part of the command that contains it. */
  text: string;
}

/** Access to one file; the path is absolute if the folder is known. */
export interface Effect {
  op: "read" | "write" | "delete";
  path: string;
  /** The path with its `..`, which the kernel follows after links; absent if it has none. */
  walked?: string;
  /** The part of the command that contains it. */
  text: string;
  /** It happens only under a condition that the text does not show, such as a failing `cd`. */
  uncertain?: boolean;
  /** The text does not name it; it follows from another effect, such as an entry of a folder. */
  implied?: boolean;
  /** An argument only looks like this file: a rule that blocks it only asks. */
  guessed?: boolean;
  /** A word of a program that gate cannot explain: the program may read the file and write it. */
  unexplained?: boolean;
  /** No table describes the program, so it may write outside the project. */
  undescribed?: boolean;
  /** A folder may come here with everything in it. */
  brings?: boolean;
  /** The program only tells that the file exists, or how large it is. */
  reveals?: "names" | "sizes";
  /** Which of the files below the path's folder the program reads. */
  below?: Below;
  /** Which of the files that git tracks the program shows. */
  tracked?: Tracked;
  /** The folder from which the patterns of `below` and the paths of `tracked` start. */
  from?: string;
  /** Only the disk tells whether there are such files; without it the effect says nothing. */
  on_disk?: boolean;
  /** The program does what the file says: it uses the files in it, or runs code of its own language. */
  holds?: Held;
}

/**
 * The content of a file that steers a program: names of files, its own arguments, code of its
 * language, or a patch, whose files it changes.
 */
export interface Held {
  as: "names" | "arguments" | "code" | "patch";
  program: string;
  /** The folders from which the names start, beside the current one. */
  starts?: readonly string[];
}

/** A text that a program may run or read as a name: an argument, its input, a file that it may open. */
export interface Suspect {
  text: string;
  /** It is searched for names of files, not for commands. */
  files_only: boolean;
  /** No table describes the program, so it may write outside the project. */
  undescribed: boolean;
  /** The folder that relative names in it start from. */
  folder: string;
  /** The part of the command that contains it. */
  from: string;
}

/** A text that a program certainly runs as shell code. */
export interface Code {
  text: string;
  /** The folder in which it starts. */
  folder: string;
}

/**
 * The thing that gate does not know. A sandbox holds "files", which the command writes, and "code",
 * which it runs, unless a rule may forbid that code.
 */
export type Unknown = "files" | "code";

/** A reason to ask a person although no rule matches. */
export interface Doubt {
  reason: string;
  /** Absent if it is about more, such as a text that hides what it means or runs later. */
  unknown?: Unknown;
  /** The part of the command, so that a person finds it. */
  text: string;
}

/** The result of an analysis: what a command runs and touches. */
export interface CommandAnalysis {
  units: Unit[];
  effects: Effect[];
  doubts: Doubt[];
  suspects: Suspect[];
  codes: Code[];
  /** Parts whose value the text does not show. */
  unresolved: string[];
  /** A bound ended the analysis before it met everything. */
  is_cut: boolean;
  /** A part of it runs in the background (`&`) and may outlive it. */
  goes_on: boolean;
}
