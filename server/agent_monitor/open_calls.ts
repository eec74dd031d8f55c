import type { RunningProcess } from "../runtime/process_list.ts";
import type { OpenCall } from "./agents/agent.ts";
import type { AgentSession } from "./schema.ts";

/** An agent starts the process of a call, or writes its result, within this time. */
const SOON_MS = 2_000;
/** Records and processes tell their times with this much difference. */
const SLACK_MS = 250;

/** Where the call of a session may run. */
export interface CallPlace {
  owner: RunningProcess | null;
  running: ReadonlyMap<number, RunningProcess>;
  /** The processes below `owner`. */
  below: readonly RunningProcess[];
  now: number;
}

/** The state that an open call implies: the session waits for the person unless something runs. */
export function statusOfCall(
  call: OpenCall,
  place: CallPlace,
): Pick<AgentSession, "status" | "status_source"> | null {
  const { owner, now } = place;
  const at = call.at === null || call.at > now + SOON_MS ? null : call.at;
  // A process that was killed left a call open, and the one that resumed its session knows nothing of it.
  if (at !== null && owner?.started_at != null && at + SLACK_MS < owner.started_at) return null;
  if (isRunning(call, at, place)) return null;
  if (call.is_certain) return { status: call.waits, status_source: "transcript" };
  if (at !== null && now - at < SOON_MS) return null;
  return { status: call.waits, status_source: "process" };
}

/** Whether a process runs the command, or the session started one since the call. */
function isRunning(
  { command, is_certain }: OpenCall,
  at: number | null,
  { running, below }: CallPlace,
): boolean {
  const runs = command !== null && commandsOf(running).has(command);
  return runs || (!is_certain && at !== null &&
    below.some(({ started_at }) => started_at !== null && started_at >= at - SLACK_MS));
}

/** The commands of the processes of one round. */
const COMMANDS = new WeakMap<CallPlace["running"], ReadonlySet<string>>();

function commandsOf(running: CallPlace["running"]): ReadonlySet<string> {
  const known = COMMANDS.get(running);
  if (known) return known;
  // A shell gets its command as one word; with a single command it becomes that program.
  const commands = new Set(
    [...running.values()].flatMap(({ argv }) => [...argv, argv.join(" ")]),
  );
  COMMANDS.set(running, commands);
  return commands;
}
