import { forNames, type Spec, spec } from "./options.ts";

/** Programs that run the project's code, with the options that change neither code nor folder. */
const MANAGER = spec(
  "-s,--silent,--quiet -q --verbose --loglevel= --color=? --no-color --if-present --no-fund --no-audit " +
    "--no-progress --offline --prefer-offline --frozen-lockfile --ignore-scripts --json --bail --run " +
    "-D,--save-dev,--dev -E,--save-exact,--exact -P,--save-prod -O,--save-optional -g,--global --production --omit=",
);

const PYTEST = spec(
  "-v,--verbose -q,--quiet -x,--exitfirst -s -k= -m= -l,--showlocals --tb= --maxfail= --lf,--last-failed " +
    "--ff,--failed-first --nf,--new-first -r= --durations= --co,--collect-only --no-header --no-summary " +
    "--disable-warnings --sw,--stepwise --cov=? --cov-report= --cov-fail-under= --no-cov -n,--numprocesses= " +
    "--color= -W= --strict-markers --deselect= --ignore= --markers --fixtures --capture=",
);

const CARGO = spec(
  "-v,--verbose -q,--quiet -r,--release --all --workspace -p,--package= --lib --bin= --bins --test= --tests " +
    "--example= --examples --bench= --benches --doc --all-targets --all-features --no-default-features " +
    "-F,--features= -j,--jobs= --locked --offline --frozen --no-fail-fast --no-run --message-format= --color= " +
    "--exclude= --profile= --check --no-deps --open --nocapture --list",
);

const GO = spec(
  "-v -run= -skip= -count= -race -cover -short -timeout= -bench= -benchmem -benchtime= -tags= -json -failfast " +
    "-p= -cpu= -list= -parallel= -shuffle= -vet= -x -n -a -u -m -d -t -fullpath",
  { single: true },
);

const MAKE = spec(
  "-j,--jobs=? -k,--keep-going -s,--silent,--quiet -n,--dry-run,--just-print,--recon -B,--always-make " +
    "-i,--ignore-errors -l=? --no-print-directory -w,--print-directory -d -r,--no-builtin-rules " +
    "-R,--no-builtin-variables -q,--question -t,--touch --trace -O,--output-sync=? -b -m",
);

/** The harmless options of each program that runs the project's code. */
export const RUNNERS: Record<string, Spec> = {
  ...forNames("npm pnpm yarn bun", MANAGER),
  pytest: PYTEST,
  cargo: CARGO,
  go: GO,
  ...forNames("make gmake", MAKE),
};

/** Variables that such programs print by, and that name no file and no code. */
const HARMLESS =
  /^(CI|NODE_ENV|(FORCE|NO|CLICOLOR|CLICOLOR_FORCE)_?COLOR|LANG|LC_\w+|TZ|TERM|COLUMNS|LINES|DEBUG|VERBOSE|RUST_(BACKTRACE|LOG)|PYTHON(UNBUFFERED|DONTWRITEBYTECODE|HASHSEED|UTF8)|CARGO_TERM_\w+|GOOS|GOARCH|CGO_ENABLED|PORT|HOST)$/;

/**
 * Whether a call of such a program does more than a rule says that names only the program and its
 * task: a variable may load code, and a word after `--` may be an option of the task's own program.
 */
export function exceedsTask(
  program: string,
  argv: readonly string[],
  environment: readonly string[],
): boolean {
  if (!Object.hasOwn(RUNNERS, program)) return false;
  const dashes = argv.indexOf("--");
  return environment.some((name) => !HARMLESS.test(name)) ||
    argv.some((word, at) =>
      (dashes >= 0 && at > dashes && word.startsWith("-")) || SETS.test(word)
    );
}

/** `CC=./x` sets a variable of make. */
const SETS = /^\w+[:?+!]*=/;
