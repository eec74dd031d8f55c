import { builtin, type Finding } from "./finding.ts";
import { DEEP, isStatic, STAR } from "./holes.ts";
import { filesOf } from "./interpret/globs.ts";
import { absolutePath } from "./interpret/state.ts";
import type { CommandAnalysis, Unit } from "./interpret/unit.ts";
import type { Surroundings } from "./request.ts";

/**
 * The findings about names of existing files that a program reads as options, because they begin with
 * a dash. The text shows only the glob, or the list, from which such a name comes.
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
    if (words.length === 0 || !(isMade(effects) || words.some(isOption))) continue;
    findings.push({ ...builtin("ask", "unresolved", "$…", REASON), text: unit.text });
  }
  return findings;
}

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
