import { setTimeout as wait } from "node:timers/promises";
import { GateError } from "../errors.ts";
import type { ProcessList, sendSignal } from "../runtime/process_list.ts";
import type { OrphanPort, Terminated, TerminateInput } from "./schema.ts";

/** How a process is ended. Tests wait less. */
export interface Terminator {
  send: typeof sendSignal;
  poll_ms: number;
  /** From SIGTERM to SIGKILL. */
  grace_ms: number;
  /** From SIGKILL to giving up. */
  kill_ms: number;
}

interface Around {
  processes: ProcessList;
  terminator: Terminator;
  own_pid: number;
  /** The orphans that people saw last. */
  before: readonly OrphanPort[];
  /** The orphans of this moment. */
  orphans: readonly OrphanPort[];
}

const PID = /^[1-9]\d{0,9}$/;

/**
 * Ends one orphan: asks it with SIGTERM, waits, and kills it. Signals only the very process that is in
 * the list of this moment. @throws GateError `not_found`, `identity_changed`, `forbidden`
 */
export async function terminate(
  text: string,
  { start_time }: TerminateInput,
  around: Around,
): Promise<Terminated & { row: OrphanPort }> {
  const { processes, terminator, own_pid, before, orphans } = around;
  if (!PID.test(text)) {
    throw new GateError("invalid", `Cannot terminate "${text}": a process id is a positive number`);
  }
  const pid = Number(text);
  const isSeen = (row: OrphanPort) =>
    row.pid === pid && (start_time === undefined || row.start_time === start_time);
  const row = pid === own_pid ? undefined : orphans.find(isSeen);
  const seen = row ?? before.find(isSeen);
  if (seen === undefined) throw unknown(pid, start_time, orphans);
  const ports = seen.ports.map(({ port }) => port);
  const identity = { pid, start_time: seen.start_time };
  const still_listening_pids = orphans
    .filter((other) => other.pid !== pid && other.ports.some(({ port }) => ports.includes(port)))
    .map((other) => other.pid);
  const answer = { pid, ports, waited_ms: 0, still_listening_pids, row: seen };
  // Looked at again, because the list was made a moment ago.
  const state = await stateOf(processes, identity);
  if (state === "gone") return { ...answer, signal: null, outcome: "already_exited" };
  if (state === "another" || row === undefined) throw changed(pid);
  return { ...answer, ...await end(processes, identity, terminator) };
}

interface Identity {
  pid: number;
  start_time: string;
}

type Ended = Pick<Terminated, "signal" | "outcome" | "waited_ms">;

async function end(
  processes: ProcessList,
  identity: Identity,
  { send, poll_ms, grace_ms, kill_ms }: Terminator,
): Promise<Ended> {
  const started = performance.now();
  const waited = () => Math.round(performance.now() - started);
  let signal: "SIGTERM" | "SIGKILL" | null = null;
  for (const [next, limit] of [["SIGTERM", grace_ms], ["SIGKILL", kill_ms]] as const) {
    if (await stateOf(processes, identity) !== "running") break;
    const sent = send(identity.pid, next);
    if (sent === "refused") throw refused(identity.pid);
    if (sent === "gone") break;
    signal = next;
    for (const until = performance.now() + limit; performance.now() < until;) {
      await wait(poll_ms);
      if (await stateOf(processes, identity) === "running") continue;
      const outcome = next === "SIGTERM" ? "terminated" : "killed";
      return { signal, outcome, waited_ms: waited() };
    }
  }
  const isGone = await stateOf(processes, identity) !== "running";
  const outcome = !isGone ? "still_running" : signal === null ? "already_exited" : "killed";
  return { signal, outcome, waited_ms: waited() };
}

async function stateOf(
  processes: ProcessList,
  { pid, start_time }: Identity,
): Promise<"running" | "another" | "gone"> {
  const found = (await processes.all()).find((one) => one.pid === pid);
  if (!found) return "gone";
  return found.start_time === start_time ? "running" : "another";
}

function unknown(pid: number, start_time: string | undefined, orphans: readonly OrphanPort[]) {
  const isAnother = start_time !== undefined && orphans.some((row) => row.pid === pid);
  if (isAnother) return changed(pid);
  const message = `Cannot terminate process ${pid}: it is no orphan of an agent's session now`;
  return new GateError("not_found", message, { next: "gate agents" });
}

function changed(pid: number): GateError {
  const message =
    `Cannot terminate process ${pid}: it is not the process that was listed any more; ` +
    "look at the list again";
  return new GateError("identity_changed", message);
}

function refused(pid: number): GateError {
  return new GateError(
    "forbidden",
    `Cannot terminate process ${pid}: the system refuses it, because another user owns the process`,
  );
}
