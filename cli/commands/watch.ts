import { Command } from "@commander-js/extra-typings";
import { setTimeout as sleep } from "node:timers/promises";
import type { Action } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { NotSigned } from "../../server/proof/not_signed.ts";
import { checkShown } from "../../server/actions/show/check_shown.ts";
import { acceptApproved } from "../actions/accept_config.ts";
import { actionCard, summarize } from "../actions/view.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import { listenToEvents } from "../daemon/events.ts";
import { CliError } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { examples } from "../options.ts";
import { openReview, Prover } from "../proof/prover.ts";
import { paint, print } from "../terminal/output.ts";
import { visibleJson, visibleLine } from "../terminal/visible.ts";
import { sayStepBacks, witness } from "../witness/witness.ts";

/** `gate watch`: the held actions, as they come. */
export function createCommand(io: Io) {
  return new Command("watch")
    .description(
      "Show each action when it is held and ask you to approve or reject it; without a terminal, " +
        "only print it.",
    )
    .option("--project <id>", "watch only this project")
    .option("--json", "print one JSON object a line and ask nothing")
    .addHelpText("after", examples("gate watch", "gate watch --json | while read -r action; …"))
    .action(async ({ project, json }) => {
      const stop = new AbortController();
      const forget = io.onSignal(() => stop.abort());
      const prover = new Prover(io);
      const queue = watchHeld(io, { project: project ?? null, signal: stop.signal, prover });
      if (json || !isInteractive(io)) await printEach(io, queue, json ?? false);
      else await reviewEach(io, queue);
      forget();
    });
}

type Queue = AsyncGenerator<{ held: Action[]; connection: Connection }>;

/** Prints each action once, when it is held. */
async function printEach(io: Io, queue: Queue, json: boolean): Promise<void> {
  let known = new Set<string>();
  for await (const { held } of queue) {
    for (const action of held.filter(({ id }) => !known.has(id))) {
      if (json) print(io, visibleJson(action, 0));
      else {
        const text = `${visibleLine(action.tool)} ${summarize(action)}`;
        print(io, `${action.id}  ${visibleLine(action.agent)}  ${paint(io, "yellow", text)}`);
      }
    }
    known = new Set(held.map(({ id }) => id));
  }
}

/** Shows the held actions one after the other and asks for a decision on each. */
async function reviewEach(io: Io, queue: Queue): Promise<void> {
  print(io, paint(io, "dim", "Waiting for held actions. Ctrl-C ends this command."));
  const seen = new Set<string>();
  for await (const { held, connection } of queue) {
    for (const action of held.filter(({ id }) => !seen.has(id))) {
      if (await review(io, connection, action) === "quit") return;
      seen.add(action.id);
    }
  }
}

async function review(io: Io, connection: Connection, action: Action): Promise<"quit" | "next"> {
  const { isCancel, select, text } = await import("@clack/prompts");
  const client = scopedClient(connection, action.project_id);
  const { id } = action;
  const one = client.api.actions[":id"];
  const detail = await unwrap(one.$get({ param: { id } }));
  if (detail.status !== "pending") return "next";
  const { digest: expected_digest } = detail;
  print(io, `\n${actionCard(io, detail, Date.now())}\n`);
  const fault = await checkShown(detail).then(() => null, (error: Error) => error);
  if (fault !== null) {
    print(io, `${paint(io, "red", "✗")} ${visibleLine(fault.message)}\n  try: gate doctor`);
    return "next";
  }
  const streams = { input: io.stdin, output: io.stdout };
  const choice = await select({ ...streams, ...QUESTION });
  if (isCancel(choice) || choice === "quit") return "quit";
  if (choice === "approve") {
    const json = { expected_digest };
    const action = await report(io, one.approve.$post({ param: { id }, json }));
    if (action) await acceptApproved(io, client, { detail, action });
  }
  if (choice === "reject") {
    const reason = await text({ ...streams, message: "Why? The agent sees the reason." });
    if (isCancel(reason)) return "next";
    await report(io, one.reject.$post({ param: { id }, json: { reason, expected_digest } }));
  }
  return "next";
}

const QUESTION = {
  message: "Approve this action?",
  initialValue: "skip",
  options: [
    { value: "approve", label: "approve" },
    { value: "reject", label: "reject", hint: "with a reason" },
    { value: "skip", label: "skip", hint: "it stays held" },
    { value: "quit", label: "quit" },
  ],
};

/** Prints the result of a review and returns it; null for a refusal, such as another's decision. */
async function report(
  io: Io,
  answer: Parameters<typeof unwrap<Action>>[0],
): Promise<Action | null> {
  try {
    const action = await unwrap(answer);
    const why = visibleLine(action.error ?? "the cause is unknown");
    if (action.execution !== "failed") print(io, `${paint(io, "green", "✓")} ${action.status}`);
    else print(io, `${paint(io, "red", "✗")} approved, but the execution failed: ${why}`);
    return action;
  } catch (error) {
    // Without the right passphrase the action stays held, and the person can try again.
    const isRefused = error instanceof ProblemError || error instanceof NotSigned;
    if (!(isRefused || error instanceof CliError)) throw error;
    print(io, `${paint(io, "red", "✗")} ${visibleLine(error.message)}`);
    if (error instanceof CliError && error.next) print(io, `  try: ${visibleLine(error.next)}`);
    return null;
  }
}

const RECONNECT_PAUSE_MS = 1_000;

/**
 * Yields the held actions at first and after each change. It waits for a daemon that ends, and does
 * not start another one, because a person may have stopped it on purpose.
 */
async function* watchHeld(
  io: Io,
  { project, signal, prover }: { project: string | null; signal: AbortSignal; prover: Prover },
): Queue {
  let isTold = false;
  for (let start = true; !signal.aborted; start = false) {
    const listening = new AbortController();
    try {
      const connection = await openReview(io, { start, prover });
      const look = async () => {
        const held = await listHeld(connection, project);
        const about = [...project ? [project] : [], ...held.map(({ project_id }) => project_id)];
        const found = await witness(io, connection, about);
        if (!isTold) sayStepBacks(io, found);
        isTold ||= found.length > 0;
        return { held, connection };
      };
      const either = AbortSignal.any([signal, listening.signal]);
      const events = listenToEvents(connection, ["approvals"], either)[Symbol.asyncIterator]();
      // Listen before the first request, so that no change is missed between the two.
      let next = nextOf(events);
      yield await look();
      while (!(await next).done) {
        next = nextOf(events);
        yield await look();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isLost(error) || (start && error instanceof CliError)) throw error;
    } finally {
      listening.abort();
    }
    await sleep(RECONNECT_PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}

/** The next event. Its failure is not an unhandled rejection if the caller stops listening. */
function nextOf<T>(events: AsyncIterator<T>): Promise<IteratorResult<T>> {
  const next = events.next();
  next.catch(() => {});
  return next;
}

async function listHeld({ client }: Connection, project: string | null): Promise<Action[]> {
  const { items } = await unwrap(client.api.global.approvals.pending.$get({ query: {} }));
  const wanted = items.filter((action) => !project || action.project_id === project);
  // Ids begin with their time, so this puts the oldest action first.
  return wanted.sort((a, b) => a.id < b.id ? -1 : 1);
}

/** Whether the connection broke; false for a request that the daemon refused. */
function isLost(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return error instanceof TypeError || error instanceof CliError || typeof code === "string";
}
