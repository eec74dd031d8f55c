import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError } from "./errors.ts";
import { type Io, isInteractive } from "./io.ts";

/** Lets a person change a text in their editor; returns it as they left it. @throws CliError */
export async function editText(io: Io, text: string, name: string): Promise<string> {
  const editor = io.env.VISUAL || io.env.EDITOR;
  if (!editor && !isInteractive(io)) {
    throw new CliError("Cannot edit: this is no terminal, and neither VISUAL nor EDITOR is set");
  }
  const folder = mkdtempSync(join(tmpdir(), "gate-edit-"));
  const file = join(folder, name);
  try {
    writeFileSync(file, text, { mode: 0o600 });
    await runEditor(editor || "vi", file);
    return readFileSync(file, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// An editor may be given with arguments (`code --wait`), which only a shell takes apart.
function runEditor(editor: string, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (code === 0) resolve();
      else {reject(
          new CliError(`The editor "${editor}" ended with code ${code}: nothing was changed`),
        );}
    });
  });
}
