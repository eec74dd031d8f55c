import type { ActionDetail } from "../../server/actions/schema.ts";
import { type Editing, editText } from "../terminal/editor.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { toolOf } from "../../server/actions/tools.ts";

/** What is to be done in place of what the agent had asked for. */
export type Edit = { content: string } | { command: string };

/** What is done with an edit, and how the command is given again where that fails. */
export interface EditUse<T> extends Pick<Editing<T>, "draft" | "again"> {
  /** Given null where the person left it as it was. */
  use: (edit: Edit | null) => Promise<T>;
}

/**
 * Opens what an agent asked for in the person's editor, and uses what they leave.
 * @throws CliError where it is no text, is emptied, or the editor fails: nothing is decided then
 */
export async function editProposed<T>(
  io: Io,
  detail: ActionDetail,
  { use, ...rest }: EditUse<T>,
): Promise<T> {
  const proposed = proposedIn(detail);
  const isCommand = detail.command !== null;
  const name = isCommand ? "command.sh" : fileName(detail.path);
  // A command has no last newline; a file that an editor opens has one.
  return await editText(io, isCommand ? `${proposed}\n` : proposed, {
    ...rest,
    name,
    use: (left) => use(editOf(detail, proposed, left)),
  });
}

/** Editors end a last line that had no end, and some take away an end that is there. */
function editOf(detail: ActionDetail, proposed: string, left: string): Edit | null {
  if (left.trim() === "") {
    const why = "the text was emptied, so nothing was decided";
    throw new CliError(`Cannot approve action "${detail.id}": ${why}`, { next: rejecting(detail) });
  }
  if (detail.command === null) {
    return left === proposed || left === `${proposed}\n` ? null : { content: left };
  }
  if (withoutEnd(left) === withoutEnd(proposed)) return null;
  return { command: left.replace(/\r?\n$/, "") };
}

function withoutEnd(command: string): string {
  return command.replace(/[\r\n]+$/, "");
}

function proposedIn(detail: ActionDetail): string {
  const { id, status, tool, command, input, base, after } = detail;
  if (status !== "pending") throw new CliError(`Cannot edit action "${id}": it is ${status}`);
  if (input !== null) {
    throw refuse(detail, "its host carries out its own input");
  }
  const { edits } = toolOf(tool);
  if (edits === "command") return command!;
  if (edits === null) {
    throw refuse(detail, `a ${tool} has neither a text nor a command`);
  }
  const text = base?.rebased?.text ?? after?.text ?? null;
  if (text === null) throw refuse(detail, "what it writes is no text, or too large to be edited");
  return text;
}

function refuse(detail: ActionDetail, why: string): CliError {
  return new CliError(`Cannot edit action "${detail.id}": ${why}`, { next: rejecting(detail) });
}

function rejecting({ id }: ActionDetail): string {
  return `gate reject ${id} --reason 'what to do instead'`;
}

/** Its ending tells an editor the language; the rest of a name is the agent's to choose. */
function fileName(path: string | null): string {
  return `proposed${/\.[A-Za-z0-9]{1,12}$/.exec(path ?? "")?.[0] ?? ".txt"}`;
}
