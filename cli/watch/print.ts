import { summarize } from "../actions/view.ts";
import type { Io } from "../io.ts";
import { paint, print } from "../terminal/output.ts";
import { visibleJson, visibleLine } from "../terminal/visible.ts";
import { type QueueOptions, watchHeld } from "./queue.ts";

/** Prints each action once, when it comes to be held. */
export async function watchAndPrint(
  io: Io,
  { json, ...options }: QueueOptions & { json: boolean },
): Promise<void> {
  let known = new Set<string>();
  for await (const { held } of watchHeld(io, options)) {
    for (const action of held.filter(({ id }) => !known.has(id))) {
      if (json) print(io, visibleJson(action, 0));
      else {
        const what = `${visibleLine(action.tool)} ${summarize(action)}`;
        print(io, `${action.id}  ${visibleLine(action.agent)}  ${paint(io, "yellow", what)}`);
      }
    }
    known = new Set(held.map(({ id }) => id));
  }
}
