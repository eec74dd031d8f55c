import { basename, resolve } from "node:path";
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

const MAX_SCRIPTS = 64;
const MAX_FOLDERS = 8;

/**
 * The files that a command would run, with their hashes. An approval of `sh deploy.sh` holds for the
 * present content of that script only.
 */
export async function scriptsOf(analysis: Analysis | null, cwd: string): Promise<Script[]> {
  const commands = analysis?.commands ?? [];
  const names = new Set(commands.flatMap(scriptNames));
  const paths = foldersOf(commands, cwd).flatMap((folder) =>
    [...names].map((name) => resolve(folder, name))
  );
  const scripts = new Map<string, Script>();
  for (const path of [...new Set(paths)].slice(0, MAX_SCRIPTS)) {
    const script = await lookUp(path);
    if (script) scripts.set(script.path, script);
  }
  return [...scripts.values()].sort((a, b) => a.path < b.path ? -1 : 1);
}

/** The folders in which the commands may run. A script is looked up in each of them. */
function foldersOf(commands: string[][], cwd: string): string[] {
  const folders = [cwd];
  for (const argv of commands.slice(0, 200)) {
    const to = argv[0] === "cd" || argv[0] === "pushd" ? argv.at(-1) : afterOption(argv, "-C");
    const folder = to === undefined ? undefined : resolve(folders.at(-1)!, to);
    if (folder !== undefined && !folders.includes(folder)) folders.push(folder);
  }
  return folders.slice(0, MAX_FOLDERS);
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
