import { isCancel, select, text } from "@clack/prompts";
import type { Action } from "../../server/actions/schema.ts";
import { ProblemError, unwrap } from "../../server/client.ts";
import { actionCard } from "../actions/view.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import type { Io } from "../io.ts";
import { paint, print } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";
import { type QueueOptions, watchHeld } from "./queue.ts";

/** Shows what is held, one after the other, and asks what shall become of it. */
export async function watchAndDecide(io: Io, options: QueueOptions): Promise<void> {
  print(io, paint(io, "dim", "Waiting for something to decide on. Ctrl-C ends this."));
  const skipped = new Set<string>();
  for await (const { held, connection } of watchHeld(io, options)) {
    for (const action of held.filter(({ id }) => !skipped.has(id))) {
      const verdict = await ask(io, connection, action);
      if (verdict === "quit") return;
      // Decided or not, it has been seen: the next event brings what is new only.
      skipped.add(action.id);
    }
  }
}

async function ask(io: Io, connection: Connection, action: Action): Promise<"quit" | "next"> {
  const client = scopedClient(connection, action.project_id);
  const { id, digest } = action;
  const detail = await unwrap(client.api.actions[":id"].$get({ param: { id } }));
  if (detail.status !== "pending") return "next";
  print(io, `\n${actionCard(io, detail, Date.now())}\n`);
  const to = { input: io.stdin, output: io.stdout };
  const verdict = await select({ ...to, ...QUESTION });
  if (isCancel(verdict) || verdict === "quit") return "quit";
  if (verdict === "approve") {
    await tell(
      io,
      client.api.actions[":id"].approve.$post({
        param: { id },
        json: { expected_digest: digest },
      }),
    );
  }
  if (verdict === "reject") {
    const reason = await text({ ...to, message: "Why? The agent is told." });
    if (isCancel(reason)) return "next";
    await tell(
      io,
      client.api.actions[":id"].reject.$post({
        param: { id },
        json: { reason, expected_digest: digest },
      }),
    );
  }
  return "next";
}

const QUESTION = {
  message: "What shall become of it?",
  initialValue: "skip",
  options: [
    { value: "approve", label: "approve" },
    { value: "reject", label: "reject", hint: "with a reason" },
    { value: "skip", label: "skip", hint: "it stays held" },
    { value: "quit", label: "quit" },
  ],
};

/** Somebody else may have been quicker: that is said, and the queue goes on. */
async function tell(io: Io, answer: Parameters<typeof unwrap<Action>>[0]): Promise<void> {
  try {
    const action = await unwrap(answer);
    if (action.execution !== "failed") {
      return print(io, `${paint(io, "green", "✓")} ${action.status}`);
    }
    const why = visibleLine(action.error ?? "nobody knows why");
    print(io, `${paint(io, "red", "✗")} approved, but carrying it out failed: ${why}`);
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    print(io, `${paint(io, "red", "✗")} ${error.problem.detail}`);
  }
}
