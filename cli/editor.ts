import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";

/**
 * Lets a person change a text in their editor; returns it as they left it.
 * @param name what the file is called, for the editor to know its kind
 * @throws CliError where there is no editor, or it fails
 */
export async function editText(io: Io, text: string, name: string): Promise<string> {
  const editor = io.env.VISUAL || io.env.EDITOR;
  if (!editor) {
    throw new CliError("Cannot edit: neither VISUAL nor EDITOR names an editor", {
      next: "export EDITOR=vi, then the same command",
    });
  }
  const folder = mkdtempSync(join(tmpdir(), "gate-edit-"));
  const file = join(folder, name);
  try {
    writeFileSync(file, text, { mode: 0o600 });
    await runEditor(editor, file);
    return decode(readFileSync(file), editor);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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
