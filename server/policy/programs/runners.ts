import { ROWS } from "./rows.ts";

/**
 * Whether a call of a program with tasks does more than a rule says that names only program and task:
 * a word after `--` may be an option of the task's own program, and `CC=./x` sets a variable of make.
 */
export function exceedsTask(program: string, argv: readonly string[]): boolean {
  if (!Object.hasOwn(ROWS, program) || !ROWS[program]!.tasks) return false;
  const dashes = argv.indexOf("--");
  return argv.some((word, at) =>
    (dashes >= 0 && at > dashes && word.startsWith("-")) || /^\w+[:?+!]*=/.test(word)
  );
}
