import { ROWS } from "./rows.ts";
import { isDescribed } from "./described.ts";
import { GENERIC, has, outside, readOptions, spec, splitCommand, valuesOf } from "./options.ts";
import { GIT_OPTIONS } from "./git_options.ts";
import { GRAMMARS } from "./grammar.ts";
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
