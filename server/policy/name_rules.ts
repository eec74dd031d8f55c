import { builtin, type Finding } from "./finding.ts";
import { ANY, DEEP, isStatic, show, SPLIT, STAR } from "./holes.ts";
import { filesOf } from "./interpret/globs.ts";
import { absolutePath } from "./interpret/state.ts";
import type { CommandAnalysis, Unit } from "./interpret/unit.ts";
import type { Surroundings } from "./request.ts";

/**
 * The findings about names of existing files that the text does not show: names that a program reads as
 * options, because they begin with a dash, and names in a folder that a glob finds for `ls`.
 */
export function evaluateNames(
  { units, effects }: CommandAnalysis,
  { list }: Surroundings,
): Finding[] {
  if (!list) return [];
  const findings: Finding[] = [];
  for (const unit of units) {
    const words = unit.argv.filter((one, at) => at > 0 && BEGINS.test(one));
    const isOption = (word: string) => {
      const folders = word.startsWith(DEEP) ? [...unit.folders, ...listed(units)] : unit.folders;
      return folders.some((folder) => hasOption(word.split("/")[0]!, folder, list));
    };
    if (words.length > 0 && (isMade(effects) || words.some(isOption))) {
      findings.push({ ...builtin("ask", "unresolved", "$…", REASON), text: unit.text });
    }
  }
  for (const { argv, folders } of units.filter(listsContent)) {
    for (const word of argv.slice(1).filter((one) => isGlob(one) && !one.startsWith("-"))) {
      const user = units.find((unit) => takesNames(unit, word));
      if (!user || !folders.some((folder) => findsFolder(word, folder, list))) continue;
      findings.push({ ...builtin("ask", "unresolved", "$…", LISTED), text: user.text });
    }
  }
  return findings;
}

/** `ls` lists, and the others only print or compare their words. */
const OPENS_NONE = /(^|\/)(ls|echo|printf|test|\[)$/;
const IS_LS = /(^|\/)ls$/;

function listsContent({ argv }: Unit): boolean {
  return IS_LS.test(argv[0] ?? "") &&
    !argv.some((word) => /^-[a-zA-Z0-9]*d|^--directory$/.test(word));
}

/** Whether the word may find files. One that is unknown as a whole stands for any names already. */
function isGlob(word: string): boolean {
  return !isStatic(word) && word !== ANY && word !== SPLIT;
}

/** Whether another program gets the glob's names by a pipe or a variable: its own text has no glob. */
function takesNames({ argv, text }: Unit, glob: string): boolean {
  return !OPENS_NONE.test(argv[0] ?? "") && !text.includes(show(glob)) &&
    argv.slice(1).some((word) => word.includes(glob));
}

/** Whether a glob finds a folder that is not empty. Too many names count as such a one. */
function findsFolder(
  glob: string,
  folder: string,
  list: NonNullable<Surroundings["list"]>,
): boolean {
  if (!isStatic(folder)) return false;
  const found = filesOf(glob.startsWith("/") ? glob : `${folder}/${glob}`, list);
  return found === null || found.some((path) => list(path)?.length !== 0);
}

const LISTED =
  "ls prints the names in a folder that the glob finds, which are other files here; use ls -d";

/** Whether the same command makes a file of such a name. */
function isMade(effects: CommandAnalysis["effects"]): boolean {
  return effects.some(({ op, path }) => op !== "read" && /\/-[^/]*$/.test(path));
}

const REASON =
  'A file here has a name that begins with "-", which the program reads as an option; ' +
  'name the files, or put "./" before the glob';

/** A word that starts with a glob, or with names that another program lists. */
const BEGINS = /^(?:[\uFDD3-\uFDD6]|-[^/]*[\uFDD3-\uFDD6])/;

/** The folders whose names some `ls` of the command lists. */
function listed(units: readonly Unit[]): string[] {
  return units.filter(({ argv }) => argv[0] === "ls").flatMap(({ argv, folders }) =>
    argv.slice(1).filter((word) => isStatic(word) && !word.startsWith("-"))
      .flatMap((word) => folders.map((folder) => absolutePath(word, folder)))
  );
}

/** Whether a name in the folder fits and begins with a dash. Too many names count as such a one. */
function hasOption(
  first: string,
  folder: string,
  list: NonNullable<Surroundings["list"]>,
): boolean {
  if (!isStatic(folder)) return false;
  const files = filesOf(`${folder}/${first.replace(UNKNOWN, STAR)}`, list);
  return files === null || files.some((path) => path.startsWith("-", path.lastIndexOf("/") + 1));
}

/** Parts that may be any text. */
const UNKNOWN = /[\uFDD0-\uFDD4]+/g;
