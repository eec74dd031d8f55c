import { ToolError } from "../../errors.ts";
import { type CommandOptions, type CommandRun, runCommand } from "../../execute/command.ts";
import type { Depth } from "../family.ts";
import { type CliHelp, readHelp } from "./read_help.ts";

/** One command of a program, with its help. */
export interface CliPage extends CliHelp {
  /** The words that start it: the program and the names of its commands. */
  argv: string[];
}

/** Who carries out what a help text is asked from. */
export type ProgramOptions = Pick<CommandOptions, "cwd" | "env" | "killGroup">;

/** How far commands of commands are followed. */
const LEVELS: Record<Depth, number> = { light: 0, normal: 1, aggressive: 2 };
const PAGES = 80;
const AT_ONCE = 4;
const TIMEOUT_MS = 5_000;
const PLAIN = { PAGER: "cat", MANPAGER: "cat", GIT_PAGER: "cat", NO_COLOR: "1", COLUMNS: "160" };

/**
 * The pages of a program: each command's `--help`, run without a shell, an input or a terminal.
 * @throws ToolError when the program cannot be started or prints no help
 */
export async function explore(
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
    // A program that answers its own help to any word has no page for that word.
    level = found.filter((page) => page !== null).filter((page) => !isSame(page, first));
    pages.push(...level);
  }
  return pages;
}

/** The page of a help text that somebody has saved. */
export function savedPage(name: string, text: string): CliPage {
  return { argv: [name], ...readHelp(text) };
}

async function pageOf(argv: string[], options: ProgramOptions): Promise<CliPage | null> {
  for (const flag of ["--help", "-h"]) {
    const env = { ...options.env, ...PLAIN };
    const run = await runCommand([...argv, flag], { ...options, env, timeout_ms: TIMEOUT_MS });
    if (run.error) throw new ToolError(`Cannot run "${argv.join(" ")}": it ${run.error}`);
    // A program that waits for something would wait again.
    if (run.timed_out) return null;
    const help = readHelp(textOf(run));
    if (help.options.length > 0 || help.commands.length > 0) return { argv, ...help };
  }
  return null;
}

/** Some print their help as if it were an error. */
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
