import { ROWS } from "./rows.ts";
import { isDescribed } from "./described.ts";
import {
  forNames,
  GENERIC,
  has,
  outside,
  readOptions,
  type Spec,
  spec,
  splitCommand,
  valuesOf,
} from "./options.ts";
import { GIT_OPTIONS } from "./git_options.ts";
import { GRAMMARS, type Read } from "./grammar.ts";
import { isKnownSetting } from "./git.ts";

/**
 * The options of a command that the tables do not know. Only programs with a list count; an allow
 * rule for the program covers such an option only if it names the option.
 */
export function unknownOptions(program: string, args: readonly string[]): string[] {
  if (program === "git") return ofGit(args);
  const row = Object.hasOwn(ROWS, program) ? ROWS[program]! : null;
  if (row?.unlisted || (row === null && isDescribed(program))) return [];
  const known = row?.grammar ?? GENERIC;
  return outside(readOptions(args, known), known);
}

/** The spellings of options of programs that have no list of them. */
const SPELLINGS: Record<string, Spec> = {
  gh: spec("-X,--method= -R,--repo="),
  psql: spec(
    "-c,--command= -f,--file= -d,--dbname= -h,--host= -p,--port= -U,--username= -v,--set,--variable= " +
      "-o,--output= -L,--log-file= -P,--pset= -F,--field-separator= -R,--record-separator= " +
      "-T,--table-attr= -a -A -b -e -E -H -l -n -q -s -S -t -V -w -W -x -X -z -0 -1",
  ),
  pg_restore: spec(
    "-c,--clean -C,--create -a,--data-only -d,--dbname= -f,--file= -h,--host= -p,--port= -U,--username= " +
      "-j,--jobs= -n,--schema= -t,--table= -F,--format= -L,--use-list=",
  ),
  ...forNames(
    "mysql mariadb",
    spec(
      "-e,--execute= -h,--host= -u,--user= -p,--password=? -D,--database= -P,--port= -S,--socket=",
    ),
  ),
  ...forNames(
    "mongosh mongo",
    spec("--eval= --host= --port= -u,--username= -p,--password= -f,--file="),
  ),
  sysctl: spec("-w,--write -p,--load=? -a,--all -n,--values -e,--ignore -q,--quiet"),
};

/**
 * The command with each option under one name, whatever its spelling, and with the value that belongs
 * to it; null for a program whose options are not listed, or that `readCommand` reads so already.
 */
export function readSpelled(program: string, args: readonly string[]): Read | null {
  const known = Object.hasOwn(SPELLINGS, program)
    ? SPELLINGS[program]!
    : Object.hasOwn(ROWS, program) && !ROWS[program]!.unlisted && !Object.hasOwn(GRAMMARS, program)
    ? ROWS[program]!.grammar
    : null;
  return known && { words: [program], unknown: false, ...readOptions(args, known) };
}

/** Options of git itself that change no file, program or repository that it uses. */
const GIT_ITSELF = spec(
  "-C= -c= --no-pager -P --no-optional-locks --no-lazy-fetch --no-advice --literal-pathspecs --glob-pathspecs " +
    "--noglob-pathspecs --icase-pathspecs --no-replace-objects -v,--version -h,--help",
);

function ofGit(args: readonly string[]): string[] {
  const { parsed, rest } = splitCommand(args, GRAMMARS.git!.options, 0);
  const [name = "", ...given] = rest;
  const own = outside(parsed, GIT_ITSELF);
  if (!valuesOf(parsed, "c").every(isKnownSetting)) own.push("c");
  if (!Object.hasOwn(GIT_OPTIONS, name)) return own;
  const read = readOptions(given, GIT_OPTIONS[name]!);
  // Without an index the operands are any two files.
  if (has(read, "no-index")) own.push("no-index");
  return [...own, ...outside(read, GIT_OPTIONS[name]!)];
}
