import { Buffer } from "node:buffer";
import { statSync } from "node:fs";
import { sha256 } from "../db/chain.ts";
import { GateError } from "../errors.ts";
import { parse } from "../parse.ts";
import type { Asked } from "./plan.ts";
import { redactInput } from "./redact_input.ts";
import {
  DeleteFileInput,
  EditFileInput,
  MoveFileInput,
  ReadFileInput,
  RunCommandInput,
  WriteFileInput,
} from "./inputs/schema.ts";
import { isInside, resolveTarget } from "./target.ts";

/** Longer than this, no kernel starts it. */
const MAX_COMMAND_BYTES = 128 * 1024 - 1;

/**
 * Reads the input of a tool; relative paths start at `root`. Tools that the gate does not carry out
 * itself are recorded under their own names. @throws GateError `invalid`
 */
export function readAsked(
  tool: string,
  input: Record<string, unknown>,
  root: string,
  roots: readonly string[],
): Asked {
  if (tool === "write_file") return readWrite(parse(WriteFileInput, input), root);
  if (tool === "edit_file") return readOne(tool, "write", parse(EditFileInput, input), root);
  if (tool === "delete_file") return readOne(tool, "delete", parse(DeleteFileInput, input), root);
  if (tool === "read_file") return readOne(tool, "read", parse(ReadFileInput, input), root);
  if (tool === "move_file") return readMove(parse(MoveFileInput, input), root);
  if (tool === "run_command") return readCommand(parse(RunCommandInput, input), root, roots);
  return readForeign(tool, input);
}

/** The bytes that an input means. @throws GateError `invalid` for what is no text, or no base64 */
export function bytesOf(content: string, encoding: "utf8" | "base64" = "utf8"): Uint8Array {
  if (encoding === "utf8") {
    if (content.isWellFormed()) return new TextEncoder().encode(content);
    throw new GateError("invalid", "Cannot use the content: it is no text; send it as base64");
  }
  const isBase64 = content.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(content);
  if (!isBase64) throw new GateError("invalid", "Cannot use the content: it is not valid base64");
  return Buffer.from(content, "base64");
}

function readWrite(input: WriteFileInput, root: string): Asked {
  const { content: _content, ...kept } = input;
  return { ...readOne("write_file", "write", kept, root) };
}

function readOne(
  tool: string,
  access: "read" | "write" | "delete",
  input: { path: string },
  root: string,
): Asked {
  const target = resolveTarget(input.path, root);
  return { ...nothing(tool), path: target.shown, accesses: [{ access, target }], input };
}

function readMove(input: MoveFileInput, root: string): Asked {
  const from = resolveTarget(input.from, root);
  const to = resolveTarget(input.to, root);
  if (from.real === to.real) {
    throw new GateError("invalid", `Cannot move "${from.shown}": both paths are the same file`);
  }
  return {
    ...nothing("move_file"),
    path: from.shown,
    accesses: [{ access: "write", target: to }, { access: "delete", target: from }],
    input,
  };
}

function readCommand(input: RunCommandInput, root: string, roots: readonly string[]): Asked {
  const { command } = input;
  if (!command.isWellFormed() || command.includes("\0")) {
    throw new GateError("invalid", "Cannot run the command: it is not well-formed text");
  }
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
    throw new GateError("invalid", "Cannot run the command: it is longer than 128 KiB");
  }
  return { ...nothing("run_command"), command, cwd: readFolder(input.cwd, root, roots), input };
}

function readFolder(given: string | undefined, root: string, roots: readonly string[]): string {
  const path = (given ?? ".").replace(/(?<=[^/])\/+$/, "");
  if (path === "." || path === root) return root;
  const { real } = resolveTarget(path, root);
  if (!roots.some((folder) => isInside(real, folder))) {
    throw new GateError("invalid", `Cannot run in "${given}": it is outside the project`);
  }
  if (!statSync(real, { throwIfNoEntry: false })?.isDirectory()) {
    throw new GateError("invalid", `Cannot run in "${given}": there is no such folder`);
  }
  return real;
}

function readForeign(tool: string, input: Record<string, unknown>): Asked {
  if (!/^[\x21-\x7e]+$/.test(tool)) {
    throw new GateError("invalid", "Cannot record the tool: its name is not plain ASCII");
  }
  const input_sha256 = sha256(JSON.stringify(input));
  return { ...nothing(tool), input: redactInput(input), input_sha256 };
}

function nothing(tool: string): Asked {
  const none = { path: null, command: null, cwd: null, input_sha256: null };
  return { tool, ...none, accesses: [], input: {} };
}
