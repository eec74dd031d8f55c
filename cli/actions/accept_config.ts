import { createHash } from "node:crypto";
import { acceptWritten, configWrittenBy } from "../../server/actions/review/accept_written.ts";
import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { type Client, ProblemError, unwrap } from "../../server/client.ts";
import { NotSigned } from "../../server/proof/not_signed.ts";
import { acceptNumbered } from "../config/accept.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { say } from "../terminal/output.ts";
import { visibleLine } from "../terminal/visible.ts";

/**
 * Accepts the config that the approved action has written, if it did and if it is exactly the text
 * that the person approved. @param edited the person's own text in place of the agent's
 */
export async function acceptApproved(
  io: Io,
  client: Client,
  { detail, action, edited = null }: {
    detail: ActionDetail;
    action: Pick<Action, "execution">;
    edited?: string | null;
  },
): Promise<void> {
  const config = configWrittenBy(detail);
  if (config === null || action.execution !== "succeeded") return;
  const sha256 = edited === null
    ? config.sha256
    : createHash("sha256").update(edited).digest("hex");
  try {
    const isAccepted = await acceptWritten({ ...config, sha256 }, {
      read: () => unwrap(client.api.config.$get()),
      accept: (json) =>
        acceptNumbered(
          io,
          { path: json.path, number: json.number ?? 0 },
          () => unwrap(client.api.config.accept.$post({ json })),
        ),
    });
    say(io, isAccepted ? "  the config is accepted and in force" : `  ${STILL_WAITS}`);
  } catch (error) {
    const isKnown = error instanceof ProblemError || error instanceof CliError ||
      error instanceof NotSigned;
    if (!isKnown) throw error;
    say(io, `  ${visibleLine(error.message)}\n  ${STILL_WAITS}`);
  }
}

const STILL_WAITS =
  "what the config allows still waits; a person must accept it: gate config accept";
