import type { RunningProcess } from "../../runtime/process_list.ts";
import type { Agent } from "./agent.ts";

/** Programs that run the file which is their first argument. */
const RUNNERS = new Set(["node", "bun", "deno"]);

/**
 * Whether the process is a session of the agent: its program, or the script of its program, has the
 * agent's name. A word elsewhere in the line is no sign: an editor may have the file open.
 */
export function isProgram(
  { argv }: Pick<RunningProcess, "argv">,
  { programs, side_commands }: Pick<Agent, "programs" | "side_commands">,
): boolean {
  const { program, command } = startOf(argv);
  if (!programs.includes(program)) return false;
  return command === undefined || !side_commands.includes(command);
}

interface Start {
  program: string;
  /** The first word that is no option. */
  command: string | undefined;
}

/** The words of a process stay the same from round to round. */
const STARTS = new WeakMap<readonly string[], Start>();

function startOf(argv: readonly string[]): Start {
  const known = STARTS.get(argv);
  if (known) return known;
  const script = RUNNERS.has(nameOf(argv[0])) ? scriptAt(argv) : 0;
  const command = argv.slice(script + 1).find((word) => !word.startsWith("-"));
  const start = { program: nameOf(argv[script]), command };
  STARTS.set(argv, start);
  return start;
}

/**
 * The processes of an agent's sessions. A program that starts itself again, or a script that starts the
 * real program, counts once, as the innermost.
 */
export function sessionsOf<P extends RunningProcess>(running: readonly P[], agent: Agent): P[] {
  const own = running.filter((one) => isProgram(one, agent));
  const parents = new Set(own.map(({ ppid }) => ppid));
  return own.filter(({ pid }) => !parents.has(pid));
}

const MOST_ANCESTORS = 64;

/** The process and those from which it descends, as far as they run. */
export function lineageOf(
  pid: number,
  running: ReadonlyMap<number, Pick<RunningProcess, "ppid">>,
): Set<number> {
  const lineage = new Set<number>();
  for (let at = pid; running.has(at) && lineage.size < MOST_ANCESTORS && !lineage.has(at);) {
    lineage.add(at);
    at = running.get(at)!.ppid;
  }
  return lineage;
}

function scriptAt(argv: readonly string[]): number {
  const at = argv.findIndex((word, i) => i > 0 && !word.startsWith("-"));
  return at < 0 ? 0 : at;
}

function nameOf(path: string | undefined): string {
  const name = (path ?? "").split(/[/\\]/).at(-1) ?? "";
  return name.replace(/\.(?:exe|cmd|js|mjs|cjs)$/i, "").toLowerCase();
}
