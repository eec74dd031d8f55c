import { ROWS } from "./rows.ts";

/** Variables that change what a program prints, and that name no file and no code. */
const HARMLESS =
  /^(CI|NODE_ENV|(FORCE|NO|CLICOLOR|CLICOLOR_FORCE)_?COLOR|LANG|LC_\w+|TZ|TERM|COLUMNS|LINES|DEBUG|VERBOSE|RUST_(BACKTRACE|LOG)|PYTHON(UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|UTF8)|CARGO_TERM_\w+|GOOS|GOARCH|CGO_ENABLED|PORT|HOST)$/;

/**
 * Whether a call of a program with tasks does more than a rule says that names only program and task: a variable may load code, and a word after `--` may be an option of the task's own program.
 */
export function exceedsTask(
  program: string,
  argv: readonly string[],
  environment: readonly string[],
): boolean {
  if (!Object.hasOwn(ROWS, program) || !ROWS[program]!.tasks) return false;
  const dashes = argv.indexOf("--");
  return environment.some((name) => !HARMLESS.test(name)) ||
    argv.some((word, at) =>
      (dashes >= 0 && at > dashes && word.startsWith("-")) || SETS.test(word)
    );
}

/** `CC=./x` sets a variable of make. */
const SETS = /^\w+[:?+!]*=/;
