import type { Caller } from "../auth/schema.ts";
import { parse } from "../parse.ts";
import { bytesOf, readAsked } from "./asked.ts";
import { enterAsked, type Entered, type Road } from "./enter.ts";
import { requireNotViewer } from "./record.ts";
import { submitRollback } from "./rollback.ts";
import { type SubmitInput } from "./schema.ts";
import { RollbackToolInput } from "./inputs/schema.ts";

/** Checks, records and, where policy allows it, does what an agent asks for. */
export async function submit(road: Road, input: SubmitInput, caller: Caller): Promise<Entered> {
  requireNotViewer(caller, "submit an action");
  const { services } = road;
  const session = await services.sessions.resolve(input.session_id, caller);
  const asked = readAsked(input.tool, input.input, session.root, services.roots);
  if (input.tool === "rollback") {
    return await submitRollback(road, parse(RollbackToolInput, input.input), session, caller);
  }
  const { content, encoding } = input.input as { content?: string; encoding?: "utf8" | "base64" };
  const bytes = asked.tool === "write_file" ? bytesOf(content!, encoding) : null;
  return await enterAsked(road, { session, asked, bytes, input: input.input, caller });
}
