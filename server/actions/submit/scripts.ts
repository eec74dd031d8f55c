import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { GateError } from "../../errors.ts";
import type { Analysis } from "../../policy/schema.ts";
import { readImage } from "../../runtime/file_image.ts";
import { resolvePath } from "../../runtime/real_path.ts";
import type { Script } from "../plan.ts";

/** Programs that run the files in their arguments. */
const INTERPRETERS =
  /^(ba|da|z|k|c|tc|fi)?sh$|^(source|\.|python[\d.]*|pypy\d*|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php\d*|lua[\d.]*|Rscript|osascript|pwsh|awk|gawk|sed|expect|tclsh|groovy|julia|just|env)$/;

/** Programs that read a file of this name in their folder and run it. */
const IMPLIED: [program: RegExp, files: string[]][] = [
  [/^g?make$/, ["GNUmakefile", "makefile", "Makefile"]],
  [/^(npm|npx|pnpm|yarn|bun)$/, ["package.json"]],
  [/^deno$/, ["deno.json", "deno.jsonc", "package.json"]],
  [/^just$/, ["justfile", "Justfile", ".justfile"]],
];

/** The most paths that are looked up, and the most files among them that are read. */
const MOST_PATHS = 32_768;
const MOST_SCRIPTS = 512;

/**
 * The files that a command would run, with their hashes. An approval of `sh deploy.sh` holds for the
 * present content of that script only. @throws GateError `invalid` if they are too many to be read
 */
export async function scriptsOf(
  analysis: Analysis | null,
  { command, cwd }: { command: string | null; cwd: string },
): Promise<Script[]> {
  const commands = analysis?.commands ?? [];
  const names = new Set(commands.flatMap(scriptNames));
  // Any word of a text that was not read to its end may name a script.
  if (analysis?.is_cut) { for (const word of wordsOf(command ?? "")) names.add(word); }
  if (names.size === 0) return [];
  const folders = foldersOf(commands, cwd);
  if (folders.length * names.size > MOST_PATHS) throw tooMany();
  const paths = folders.flatMap((folder) => [...names].map((name) => resolve(folder, name)));
  const scripts = new Map<string, Script>();
  for (const path of new Set(paths)) {
    const script = isFile(path) ? await lookUp(path) : null;
    if (script) scripts.set(script.path, script);
    if (scripts.size > MOST_SCRIPTS) throw tooMany();
  }
  return [...scripts.values()].sort((a, b) => a.path < b.path ? -1 : 1);
}

function wordsOf(command: string): string[] {
  return command.split(/[\s"'`;|&<>(){}$=,\\]+/).filter((word) => word !== "");
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return false; // no program could open it either
  }
}

/** The folders in which the commands may run. A script is looked up in each of them. */
function foldersOf(commands: string[][], cwd: string): string[] {
  const folders = new Set([cwd]);
  let last = cwd;
  for (const argv of commands) {
    const to = argv[0] === "cd" || argv[0] === "pushd" ? argv.at(-1) : afterOption(argv, "-C");
    if (to === undefined) continue;
    last = resolve(last, to);
    // A subshell may have ended before, and then the folder is the first one again.
    folders.add(last).add(resolve(cwd, to));
  }
  return [...folders];
}

/** An approval would leave some of the scripts open. */
function tooMany(): GateError {
  const why = "it names too many files that its programs may run; split it into several commands";
  return new GateError("invalid", `Cannot run the command: ${why}`);
}

function afterOption(argv: string[], option: string): string | undefined {
  const at = argv.indexOf(option);
  return at === -1 ? undefined : argv[at + 1];
}

/** The script with its present hash; null if it is no regular file. */
async function lookUp(path: string): Promise<Script | null> {
  try {
    const { real } = resolvePath(path);
    const image = await readImage(real, 0);
    return image && { path: real, sha256: image.sha256 };
  } catch {
    return null; // a folder, a pipe or an unreadable file: no interpreter could run it
  }
}

function scriptNames(argv: string[]): string[] {
  const [program = "", ...operands] = argv;
  const name = basename(program);
  const implied = IMPLIED.filter(([of]) => of.test(name)).flatMap(([, files]) => files);
  const run = INTERPRETERS.test(name) ? operands.filter((word) => !word.startsWith("-")) : [];
  return [...(program.includes("/") ? [program] : []), ...run, ...implied];
}
