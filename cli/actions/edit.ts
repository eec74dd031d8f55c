import type { ActionDetail } from "../../server/actions/schema.ts";
import { type Editing, editText } from "../terminal/editor.ts";
import { CliError } from "../errors.ts";
import type { Io } from "../io.ts";
import { toolOf } from "../../server/actions/tools.ts";

/** The reviewer's content or command that replaces the agent's. */
export type Edit = { content: string } | { command: string };

/** How an edit is used, and the command that tries again after a failure. */
export interface EditUse<T> extends Pick<Editing<T>, "draft" | "again"> {
  /** Receives null if the reviewer changed nothing. */
  use: (edit: Edit | null) => Promise<T>;
}

/**
 * Opens the text or command of an action in the reviewer's editor, and uses the edited result.
 * @throws CliError if it is not text, is emptied, or the editor fails; the action stays held
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

/** Ignores a difference in the last newline, because editors add or remove it. */
function editOf(detail: ActionDetail, proposed: string, left: string): Edit | null {
  if (left.trim() === "") {
    const why = "the edited text is empty; the action is still held";
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
  const { id, status } = detail;
  if (status !== "pending") throw new CliError(`Cannot edit action "${id}": it is ${status}`);
  const { text, why } = editableText(detail);
  if (text !== null) return text;
  throw new CliError(`Cannot edit action "${id}": ${why}`, { next: rejecting(detail) });
}

/** Whether a held action has a text or command that a person can edit. */
export function isEditable(detail: ActionDetail): boolean {
  return editableText(detail).text !== null;
}

function editableText(
  { tool, command, input, base, after }: ActionDetail,
): { text: string; why?: never } | { text: null; why: string } {
  if (input !== null) return { text: null, why: "its host executes its own input" };
  const { edits } = toolOf(tool);
  if (edits === "command") return { text: command! };
  if (edits === null) return { text: null, why: `${tool} has neither a text nor a command` };
  const text = base?.rebased?.text ?? after?.text ?? null;
  return text === null
    ? { text, why: "its content is not text, or is too large to edit" }
    : { text };
}

function rejecting({ id }: ActionDetail): string {
  return `gate reject ${id} --reason 'what to do instead'`;
}

/** Only the ending of the agent's file name is used: it tells the editor the language. */
function fileName(path: string | null): string {
  return `proposed${/\.[A-Za-z0-9]{1,12}$/.exec(path ?? "")?.[0] ?? ".txt"}`;
}
