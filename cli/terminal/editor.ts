import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError, explain } from "../errors.ts";
import type { Io } from "../io.ts";
import { withShownTyping } from "./typing.ts";

/** How a text is edited and used. */
export interface Editing<T> {
  /** The name of the temporary file; its ending tells the editor the language. */
  name: string;
  /** An existing file to edit instead of a temporary one; it is never deleted. */
  draft?: string;
  /** Uses the edited text. */
  use: (left: string) => T | Promise<T>;
  /** The command to type next if `use` throws. */
  again: (file: string, error: unknown) => string;
}

/**
 * Lets a person edit a text in their editor, and uses the result. If that fails, the edited file is
 * kept. @throws CliError if no editor is set or it fails
 */
export async function editText<T>(io: Io, text: string, editing: Editing<T>): Promise<T> {
  editorOf(io);
  if (editing.draft !== undefined) return await editIn(io, editing.draft, text, editing);
  const folder = mkdtempSync(join(tmpdir(), "gate-edit-"));
  const file = join(folder, editing.name);
  let isKept = false;
  try {
    writeFileSync(file, text, { mode: 0o600 });
    return await editIn(io, file, text, editing);
  } catch (error) {
    isKept = error instanceof KeptError;
    throw error;
  } finally {
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

/** The edited text could not be used; its file is kept. */
class KeptError extends CliError {}

async function editIn<T>(
  io: Io,
  file: string,
  text: string,
  { use, again }: Editing<T>,
): Promise<T> {
  const editor = editorOf(io);
  statSync(file);
  try {
    await withShownTyping(io, () => runEditor(editor, file));
    return await use(decode(readFileSync(file), editor));
  } catch (error) {
    if (!isEdited(file, text)) throw error;
    const { message } = explain(error);
    const next = again(file, error);
    throw new KeptError(`${message}\n  your text is kept in ${file}`, { next });
  }
}

/** Whether the file holds text that the person changed. */
function isEdited(file: string, text: string): boolean {
  const left = readFileSync(file);
  return left.toString().trim() !== "" && !left.equals(new TextEncoder().encode(text));
}

function editorOf(io: Io): string {
  const editor = io.env.VISUAL || io.env.EDITOR;
  if (editor) return editor;
  throw new CliError("Cannot edit: neither VISUAL nor EDITOR names an editor", {
    next: ANOTHER,
  });
}

const ANOTHER = "export EDITOR=vi, then the same command";

// The shell splits an editor that is set with arguments (`code --wait`).
function runEditor(editor: string, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      if (code === 0) return resolve();
      const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
      const message = `Cannot use the edit: the editor "${editor}" ${how}; nothing changed`;
      // A shell ends so when it cannot find or start the program.
      const isMissing = code === 126 || code === 127;
      reject(new CliError(message, isMissing ? { next: ANOTHER } : {}));
    });
  });
}

function decode(bytes: Uint8Array, editor: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const why = `the editor "${editor}" saved text that is not UTF-8; nothing changed`;
    throw new CliError(`Cannot use the edit: ${why}`);
  }
}
