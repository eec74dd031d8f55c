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
  const script = RUNNERS.has(nameOf(argv[0])) ? scriptAt(argv) : 0;
  if (!programs.includes(nameOf(argv[script]))) return false;
  const command = argv.slice(script + 1).find((word) => !word.startsWith("-"));
  return command === undefined || !side_commands.includes(command);
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

function scriptAt(argv: readonly string[]): number {
  const at = argv.findIndex((word, i) => i > 0 && !word.startsWith("-"));
  return at < 0 ? 0 : at;
}

function nameOf(path: string | undefined): string {
  const name = (path ?? "").split(/[/\\]/).at(-1) ?? "";
  return name.replace(/\.(?:exe|cmd|js|mjs|cjs)$/i, "").toLowerCase();
}
