import type { ActionDetail } from "../server/actions/schema.ts";
import { editText } from "./editor.ts";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";

/** What is to be done in place of what the agent had asked for. */
export type Edit = { content: string } | { command: string };

/**
 * Opens what an agent asked for in the person's editor; null where they left it as it was.
 * @throws CliError where it is no text, is emptied, or the editor fails: nothing is decided then
 */
export async function editProposed(io: Io, detail: ActionDetail): Promise<Edit | null> {
  const proposed = proposedIn(detail);
  const isCommand = detail.command !== null;
  // A command has no last newline; a file that an editor opens has one.
  const given = isCommand ? `${proposed}\n` : proposed;
  const left = await editText(io, given, isCommand ? "command.sh" : fileName(detail.path));
  // Editors end a last line that had no end.
  if (left === given || left === `${given}\n`) return null;
  if (left.trim() === "") {
    const why = "the text was emptied, so nothing was decided";
    throw new CliError(`Cannot approve action "${detail.id}": ${why}`, { next: rejecting(detail) });
  }
  return isCommand ? { command: left.replace(/\r?\n$/, "") } : { content: left };
}

function proposedIn(detail: ActionDetail): string {
  const { id, status, tool, command, input, base, after } = detail;
  if (status !== "pending") throw new CliError(`Cannot edit action "${id}": it is ${status}`);
  if (input !== null) {
    throw refuse(detail, "its host carries out its own input");
  }
  if (tool === "run_command") return command!;
  if (tool !== "write_file" && tool !== "edit_file") {
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
