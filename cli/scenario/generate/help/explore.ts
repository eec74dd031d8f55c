import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { attempt, GIVE_A_FILE, ToolError } from "../../errors.ts";
import { type CommandOptions, type CommandRun, runCommand } from "../../execute/command.ts";
import type { Depth } from "../family.ts";
import { splitWords } from "../markdown_routes.ts";
import { type CliHelp, readHelp } from "./read_help.ts";

/** One command of a program, with its help. */
export interface CliPage extends CliHelp {
  /** The words that start it: the program and the names of its commands. */
  argv: string[];
}

/** How a program is run to ask for its help. */
export type ProgramOptions = Pick<CommandOptions, "cwd" | "env" | "killGroup">;

/** How many levels of subcommands are followed. */
const LEVELS: Record<Depth, number> = { light: 0, normal: 1, aggressive: 2 };
const PAGES = 80;
const AT_ONCE = 4;
const TIMEOUT_MS = 5_000;
const PLAIN = { PAGER: "cat", MANPAGER: "cat", GIT_PAGER: "cat", NO_COLOR: "1", COLUMNS: "160" };

/**
 * The pages for one `--from-help`: a program with optional words, whose help is asked, or
 * `name=file` with a saved help text. @throws ToolError
 */
export async function pagesOf(
  given: string,
  depth: Depth,
  options: ProgramOptions,
): Promise<CliPage[]> {
  const saved = /^([^\s=]+)=(.+)$/s.exec(given);
  if (!saved) {
    const program = splitWords(given);
    if (program.length > 0) return await explore(program, depth, options);
    throw new ToolError(`Cannot use --from-help "${given}": it names no program`, {
      next: "--from-help git, or --from-help git=help.txt with a saved help",
    });
  }
  const [, name = "", file = ""] = saved;
  const path = resolve(options.cwd, file);
  const text = attempt(`read "${path}"`, GIVE_A_FILE, () => readFileSync(path, "utf8"));
  const page = { argv: [name], ...readHelp(text) };
  if (page.options.length + page.commands.length > 0) return [page];
  throw new ToolError(`Cannot generate from ${file}: it names no option and no command`, {
    next: `save what the program prints: ${name} --help > ${file}`,
  });
}

/**
 * The pages of a program. Runs each command with `--help`, without a shell, an input or a terminal.
 * @throws ToolError when the program cannot be started or prints no help
 */
async function explore(
  program: string[],
  depth: Depth,
  options: ProgramOptions,
): Promise<CliPage[]> {
  const first = await pageOf(program, options);
  if (!first) {
    throw new ToolError(`Cannot read the help of "${program.join(" ")}": it prints none`, {
      next: `${program[0]} --help > help.txt, then --from-help ${program[0]}=help.txt`,
    });
  }
  const pages = [first];
  let level = [first];
  for (let n = 0; n < LEVELS[depth]; n++) {
    const names = level.flatMap(({ argv, commands }) => commands.map((name) => [...argv, name]));
    const wanted = names.slice(0, PAGES - pages.length);
    const found = await inTurns(wanted, (argv) => pageOf(argv, options));
    // Some programs answer an unknown word with their own help.
    level = found.filter((page) => page !== null).filter((page) => !isSame(page, first));
    pages.push(...level);
  }
  return pages;
}

async function pageOf(argv: string[], options: ProgramOptions): Promise<CliPage | null> {
  for (const flag of ["--help", "-h"]) {
    const env = { ...options.env, ...PLAIN };
    const run = await runCommand([...argv, flag], { ...options, env, timeout_ms: TIMEOUT_MS });
    if (run.error) {
      throw new ToolError(`Cannot run "${argv.join(" ")}": it ${run.error}`, {
        next: `give a program that runs here, or its saved help: ${argv[0]}=help.txt`,
      });
    }
    // A program that hangs with --help also hangs with -h.
    if (run.timed_out) return null;
    const help = readHelp(textOf(run));
    if (help.options.length > 0 || help.commands.length > 0) return { argv, ...help };
  }
  return null;
}

/** Some programs print their help to stderr. */
function textOf({ stdout, stderr }: CommandRun): string {
  return stdout.trim() === "" ? stderr : stdout;
}

function isSame(page: CliPage, other: CliPage): boolean {
  return JSON.stringify([page.options, page.commands]) ===
    JSON.stringify([other.options, other.commands]);
}

async function inTurns<T, R>(items: T[], task: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    results.push(...await Promise.all(items.slice(at, at + AT_ONCE).map(task)));
  }
  return results;
}
