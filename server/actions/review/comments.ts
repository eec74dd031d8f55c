import { GateError } from "../../errors.ts";
import { shownText } from "../contents.ts";
import type { ActionServices } from "../context.ts";
import type { LineComment } from "../schema.ts";
import type { ActionRow } from "../store.ts";

/** A longer text is no longer an answer that an agent reads. */
const MAX_REASON = 16_000;
/** So much of a line names it; the agent has the file. */
const MAX_QUOTED = 120;

/**
 * The reason of a rejection with the comments on lines, as the agent reads it: each comment names its
 * file and line and quotes the line. @throws GateError `invalid` when there is no such line
 */
export async function reasonWith(
  services: ActionServices,
  row: ActionRow,
  reason: string | null,
  comments: readonly LineComment[],
): Promise<string | null> {
  if (comments.length === 0) return reason;
  const texts: string[] = reason === null || reason === "" ? [] : [reason];
  for (const comment of comments) {
    const { path, line, side, text, answers } = comment;
    const quoted = await lineOf(services, row, comment);
    const where = side === "before" ? ", before the change" : "";
    const again = answers === undefined ? "" : ", again";
    texts.push(`${path}:${line}${where} (${JSON.stringify(quoted)})${again}: ${text}`);
  }
  const whole = texts.join("\n");
  if (whole.length <= MAX_REASON) return whole;
  throw refused(`together they have ${whole.length} characters; the most is ${MAX_REASON}`);
}

async function lineOf(
  services: ActionServices,
  { plan }: ActionRow,
  { path, line, side }: LineComment,
): Promise<string> {
  const change = plan?.changes.find(({ shown }) => shown === path);
  if (change === undefined) throw refused(`the action does not change "${path}"`);
  const text = await shownText(services, change[side]?.sha256 ?? null);
  if (text === null) throw refused(`"${path}" is not shown as text there`);
  const found = text.split("\n")[line - 1];
  if (found === undefined) throw refused(`"${path}" has no line ${line} there`);
  return found.trim().slice(0, MAX_QUOTED);
}

function refused(why: string): GateError {
  return new GateError("invalid", `Cannot reject the action with these comments: ${why}`);
}
