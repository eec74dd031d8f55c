import { GO_ON, type HostHooks } from "../../server/hosts/host.ts";
import { hooksOf } from "../../server/hosts/hosts.ts";
import { SilentError, type WireAnswer } from "../../server/runtime/wire.ts";
import type { Io } from "../io.ts";
import type { BegunHook } from "./begin.ts";
import type { Deadlines } from "./deadlines.ts";
import { askRunning, type HookRequest, hookRequest } from "./request.ts";

/** The outside world of a hook. Nothing here takes time to create. */
export interface HookIo extends Pick<Io, "env" | "cwd" | "pid"> {
  /** Reads the whole standard input. */
  input: () => Promise<string>;
  /** Waits for the answer to the first request, if the start of the program sent it (`begin.ts`). */
  first?: BegunHook["answer"] | null;
  deadlines: Deadlines;
}

/**
 * Answers one hook with a line of JSON in the host's own shape. Before a tool runs, any error or
 * time-out is a refusal: a host runs the tool when its hook does not end in time.
 */
export async function answerHook(host: string, io: HookIo): Promise<string> {
  const hooks = hooksOf(host)!;
  const { refuse, report } = io.deadlines;
  const started = Date.now();
  let isAfter = false;
  try {
    const text = await withDeadline(io.input(), refuse, "the hook is given no input");
    const call = hooks.read(objectOf(text), { command: "", args: [] });
    if (call === null) return JSON.stringify(GO_ON);
    isAfter = call.event === "after";
    const until = started + (isAfter ? report : refuse);
    const asking = { io, until, start: !isAfter };
    const answer = askUntil(host, text, hooks, asking);
    return await withDeadline(answer, until - Date.now(), "nobody answers");
  } catch (error) {
    // The tool ran already, so a refusal has no effect.
    if (isAfter) return JSON.stringify(GO_ON);
    const why = error instanceof Error ? error.message : String(error);
    return JSON.stringify(hooks.deny(`Blocked by gate: ${why}`));
  }
}

interface Asking {
  io: HookIo;
  until: number;
  /** Start the daemon when none runs. */
  start: boolean;
}

/** Repeats the request while the action is held. Each is short, so that a hanging daemon shows. */
async function askUntil(
  host: string,
  body: string,
  hooks: HostHooks,
  asking: Asking,
): Promise<string> {
  const { slice, margin } = asking.io.deadlines;
  for (let lost = 0, { first = null } = asking.io;; first = null) {
    const left = asking.until - Date.now();
    const wait_ms = Math.max(0, Math.min(slice, left - margin));
    const answer = await askOnce(host, body, { ...asking, wait_ms, first }).catch((error) => error);
    if (answer instanceof Error) {
      // A daemon may restart while its hooks wait; one that stays away is a refusal.
      const isSilent = answer instanceof SilentError;
      if (isSilent || ++lost > MOST_LOST || left < 2 * margin) throw answer;
      await new Promise((resolve) => setTimeout(resolve, lost * PAUSE_MS));
      continue;
    }
    lost = 0;
    const output = outputOf(answer);
    const isOver = !answer.headers.has("gate-held") || left < 2 * margin;
    if (isOver) return JSON.stringify(checked(output, hooks));
  }
}

const MOST_LOST = 2;
const PAUSE_MS = 100;

async function askOnce(
  host: string,
  body: string,
  { io, until, start, wait_ms, first }: Asking & { wait_ms: number; first: HookIo["first"] },
): Promise<WireAnswer> {
  const timeout_ms = Math.min(wait_ms + io.deadlines.answer, Math.max(1, until - Date.now()));
  const request = hookRequest(host, body, { env: io.env, wait_ms, timeout_ms });
  const answer = await (first?.() ?? askAgain(request, io));
  if (answer !== null) return answer;
  if (!start) throw new Error("the daemon does not run");
  const { askStarting } = await import("./start.ts");
  return await askStarting(request, io);
}

async function askAgain(request: HookRequest, io: HookIo): Promise<WireAnswer | null> {
  const { findSocketAndToken } = await import("../daemon/socket_and_token.ts");
  return await askRunning(request, findSocketAndToken(io, "agent"));
}

function outputOf({ status, body }: WireAnswer): Record<string, unknown> {
  const said = objectOf(body);
  if (status === 200) return said;
  const detail = typeof said.detail === "string" ? said.detail : `it answered ${status}`;
  throw new Error(`the daemon cannot judge it: ${detail}`);
}

/** The output, if it has the shape of "go on" or of a refusal. @throws Error otherwise */
function checked(output: Record<string, unknown>, hooks: HostHooks): Record<string, unknown> {
  const shape = Object.keys(output).sort().join();
  const answers = [GO_ON, hooks.deny(""), ...hooks.rewriting ? [hooks.rewriting.answer({})] : []];
  const known = answers.map((one) => Object.keys(one).sort().join());
  if (known.includes(shape)) return output;
  throw new Error("the daemon's answer cannot be understood");
}

function objectOf(text: string): Record<string, unknown> {
  const value = parsed(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Error("the hook's input is not a JSON object");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("the hook's input is not JSON");
  }
}

function withDeadline<T>(work: Promise<T>, ms: number, why: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${why} in time`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
