/** A text whose programs, words and files are all literal, in the order in which a shell runs them. */
export interface ProvedList {
  items: ProvedItem[];
}

/** One step of a list, and the outcome of the step before it that starts it. */
export interface ProvedItem {
  when: "always" | "success" | "failure";
  run: ProvedPipeline | ProvedLoop | ProvedAssignment;
}

/** Commands that run at once, each with the output of the one before it. */
export interface ProvedPipeline {
  kind: "pipeline";
  stages: ProvedCommand[];
}

/** A loop over literals: its body once for each of them. */
export interface ProvedLoop {
  kind: "loop";
  rounds: ProvedList[];
}

/** A variable of the text. Its uses are already replaced by its value. */
export interface ProvedAssignment {
  kind: "assignment";
  name: string;
  value: string;
}

/** One program with its words, as the shell would start it. */
export interface ProvedCommand {
  /** The program first; globs are replaced by the files that they found. */
  argv: [string, ...string[]];
  /** The same words with the globs as they are written. */
  written: string[];
  /** Shells run a command of this name themselves, and it means the same in all of them. */
  builtin: boolean;
  /** The variables that stand before the program. */
  variables: [name: string, value: string][];
  /** In the order of the text. */
  redirects: ProvedRedirect[];
  /** Absolute folders in which it may run: several after a `cd` that may fail. */
  folders: string[];
  /** From and up to which character of the text. */
  span: Span;
}

/** A stream of a command: to or from a file, from a text, or where another stream goes. */
export type ProvedRedirect =
  | { fd: 0; kind: "read"; path: string }
  | { fd: 1 | 2; kind: "write" | "append"; path: string }
  | { fd: 1 | 2; kind: "duplicate"; of: 1 | 2 }
  | { fd: 0; kind: "text"; text: string };

/** From and up to which character of a text. */
export type Span = readonly [from: number, to: number];

/** The answer about a text: what it runs, or the first construct that prevents a proof. */
export type Proof = { proved: ProvedList } | { unproved: { reason: string; span: Span } };

/** One step of a proved text without its loops, in the order in which it runs. */
export interface Step {
  when: ProvedItem["when"];
  /** It is the start of a loop: without its condition as many steps after it do not run. */
  skips: number;
  /** The commands of a pipeline; none for a variable, which only succeeds. */
  stages: Pick<ProvedCommand, "argv" | "builtin" | "variables" | "redirects">[];
}

/** A proved text as a flat list of steps: what a program needs in order to run it. */
export function stepsOf({ items }: ProvedList): Step[] {
  return items.flatMap(({ when, run }): Step[] => {
    if (run.kind === "assignment") return [{ when, skips: 0, stages: [] }];
    if (run.kind === "loop") {
      const rounds = run.rounds.flatMap(stepsOf);
      return [{ when, skips: rounds.length, stages: [] }, ...rounds];
    }
    const stages = run.stages.map(({ argv, builtin, variables, redirects }) => ({
      ...{ argv, builtin, variables, redirects },
    }));
    return [{ when, skips: 0, stages }];
  });
}

/** Every command of a proved text, in order. */
export function commandsOf({ items }: ProvedList): ProvedCommand[] {
  return items.flatMap(({ run }) => {
    if (run.kind === "pipeline") return run.stages;
    return run.kind === "loop" ? run.rounds.flatMap(commandsOf) : [];
  });
}

/** Thrown at the first construct that prevents a proof. */
export class Unproved {
  readonly reason: string;
  readonly span: Span;

  constructor(reason: string, span: Span) {
    this.reason = reason;
    this.span = span;
  }
}
