import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError, explain } from "../errors.ts";
import type { Io } from "../io.ts";

/** How a text is edited, and what becomes of it. */
export interface Editing<T> {
  /** What the file is called, for the editor to know its kind. */
  name: string;
  /** A file of the person's own, such as one that was kept, to go on in; it is left where it is. */
  draft?: string;
  /** Does something with the text as it was left. */
  use: (left: string) => T | Promise<T>;
  /** The command to type next where `use` throws. */
  again: (file: string, error: unknown) => string;
}

/**
 * Lets a person change a text in their editor, and uses it as they left it. Where that fails, the
 * file with what they typed is kept. @throws CliError where there is no editor, or it fails
 */
export async function editText<T>(io: Io, text: string, editing: Editing<T>): Promise<T> {
  const editor = editorOf(io);
  if (editing.draft !== undefined) return await editIn(editor, editing.draft, text, editing);
  const folder = mkdtempSync(join(tmpdir(), "gate-edit-"));
  const file = join(folder, editing.name);
  let isKept = false;
  try {
    writeFileSync(file, text, { mode: 0o600 });
    return await editIn(editor, file, text, editing);
  } catch (error) {
    isKept = error instanceof KeptError;
    throw error;
  } finally {
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

/** What a person typed was of no use, and is kept. */
class KeptError extends CliError {}

async function editIn<T>(
  editor: string,
  file: string,
  text: string,
  { use, again }: Editing<T>,
): Promise<T> {
  statSync(file);
  try {
    await runEditor(editor, file);
    return await use(decode(readFileSync(file), editor));
  } catch (error) {
    if (!isTyped(file, text)) throw error;
    const { message } = explain(error);
    const next = again(file, error);
    throw new KeptError(`${message}\n  what you typed is kept in ${file}`, { next });
  }
}

/** Whether there is anything in the file that would be missed. */
function isTyped(file: string, text: string): boolean {
  const left = readFileSync(file);
  return left.toString().trim() !== "" && !left.equals(new TextEncoder().encode(text));
}

function editorOf(io: Io): string {
  const editor = io.env.VISUAL || io.env.EDITOR;
  if (editor) return editor;
  throw new CliError("Cannot edit: neither VISUAL nor EDITOR names an editor", {
    next: "export EDITOR=vi, then the same command",
  });
}

// An editor may be given with arguments (`code --wait`), which only a shell takes apart.
function runEditor(editor: string, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      if (code === 0) return resolve();
      const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
      reject(new CliError(`The editor "${editor}" ${how}: nothing was changed`));
    });
  });
}

function decode(bytes: Uint8Array, editor: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CliError(`The editor "${editor}" left no UTF-8 text: nothing was changed`);
  }
}
