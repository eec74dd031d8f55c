import type { Caller } from "../auth/schema.ts";
import { readBlob } from "../db/blobs.ts";
import { readAsked } from "./asked.ts";
import { enterAsked, type Entered, type Road } from "./enter.ts";
import { actorOf, eventOf, loadAction, notPossible, requireReviewer } from "./record.ts";
import type { ActionRow } from "./store.ts";

/** Submits a rolled-back write again, as a new action that passes policy like any other. */
export async function replay(road: Road, id: string, caller: Caller): Promise<Entered> {
  requireReviewer(caller, "replay");
  const { services } = road;
  const original = await loadAction(services, id);
  const { tool, status, plan } = original;
  if (status !== "rolled_back") throw notPossible(original, "replay", "it is not rolled back");
  if (!plan || tool === "rollback") throw notPossible(original, "replay", "it is no write");
  const session = await services.sessions.get(original.session_id);
  // What is written again is the final content, also where it had come about by edits.
  const isText = tool === "write_file" || tool === "edit_file" || plan.native !== undefined;
  const after = isText ? plan.changes[0]?.after : null;
  if (plan.native && (!after || plan.changes.length > 1)) {
    throw notPossible(original, "replay", "only its host can do it again");
  }
  const bytes = after ? await contentOf(road, original, after.sha256) : null;
  const path = plan.native ? plan.changes[0]!.path : plan.input.path;
  const input = after ? { path, content: "" } : plan.input;
  const asked = readAsked(after ? "write_file" : tool, input, original.root, services.roots);
  const entered = await enterAsked(road, { session, asked, bytes, input, caller, replay_of: id });
  await services.ledger.commit({
    statements: [],
    events: [eventOf(original, "action.replayed", actorOf(caller, original.agent), {
      action: entered.row.id,
    })],
  });
  return entered;
}

async function contentOf(road: Road, row: ActionRow, sha256: string): Promise<Uint8Array> {
  const content = await readBlob(road.services.ledger, sha256);
  if (content) return content;
  throw notPossible(row, "replay", "its content is no longer kept");
}
