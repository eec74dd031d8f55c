import { z } from "zod";
import {
  ApproveInput,
  ApproveWithEditInput,
  ReplayInput,
  RollbackInput,
} from "../actions/schema.ts";
import type { Actions } from "../actions/actions.ts";
import type { Caller } from "../auth/schema.ts";
import type { PassedAnswer } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { Proof } from "../proof/schema.ts";
import { rollbackSession } from "../sessions/rollback.ts";
import { PartialRollbackInput, SessionRollbackInput } from "../sessions/schema.ts";
import type { Sessions } from "../sessions/sessions.ts";

const passed = { id: z.uuid(), member_id: z.string().max(256), proof: Proof.nullable() };

/** A person's request that another machine passes on. Anybody who can write the ledger can write one. */
const PassedRequest = z.discriminatedUnion("verb", [
  z.strictObject({ ...passed, verb: z.literal("approve"), input: ApproveInput }),
  z.strictObject({ ...passed, verb: z.literal("approve_with_edit"), input: ApproveWithEditInput }),
  z.strictObject({ ...passed, verb: z.literal("rollback"), input: RollbackInput }),
  z.strictObject({ ...passed, verb: z.literal("replay"), input: ReplayInput }),
  z.strictObject({
    ...passed,
    verb: z.literal("rollback_session"),
    input: z.union([SessionRollbackInput, PartialRollbackInput]),
  }),
]);
type PassedRequest = z.infer<typeof PassedRequest>;

interface Served {
  actions: Actions;
  sessions: Sessions;
}

/**
 * Carries out a request that another machine passed on. The proof of the person answers a challenge of
 * this machine, as for a request to this daemon. It never throws.
 */
export async function servePassed(
  served: Served,
  request: unknown,
  log: Environment["log"],
): Promise<PassedAnswer> {
  try {
    return { body: await carryOut(served, PassedRequest.parse(request)) };
  } catch (error) {
    if (error instanceof GateError) return { refused: withoutTexts(error) };
    log("error", "Cannot carry out a request of another machine", {
      error: String(error),
    });
    return { refused: { code: "internal", message: UNEXPECTED, fields: {} } };
  }
}

const UNEXPECTED = "Cannot carry out the request: an unexpected error occurred on the machine of " +
  "the agent; run gate daemon logs there";

async function carryOut(
  { actions, sessions }: Served,
  { id, member_id, proof, ...request }: PassedRequest,
): Promise<unknown> {
  // Never `none`: another machine must not spare a person the proof.
  const via = "token" as const;
  const caller: Caller = { scope: "reviewer", id: member_id, member_id, via, proof };
  switch (request.verb) {
    case "approve":
      return await actions.approve(id, request.input, caller);
    case "approve_with_edit":
      return await actions.approveWithEdit(id, request.input, caller);
    case "rollback":
      return await actions.rollback(id, request.input, caller);
    case "replay":
      return await actions.replay(id, caller, request.input);
    case "rollback_session":
      return await rollbackSession({ actions, sessions }, id, request.input, caller);
  }
}

/** The refusal without the present contents of files: nobody has proved this request. */
function withoutTexts({ code, message, fields }: GateError) {
  const { diff: _diff, conflicts, ...rest } = fields;
  const hashes = Array.isArray(conflicts)
    ? { conflicts: conflicts.map(({ texts: _texts, ...one }) => ({ ...one, texts: null })) }
    : {};
  return { code, message, fields: { ...rest, ...hashes } };
}
