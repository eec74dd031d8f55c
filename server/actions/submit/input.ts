import { Buffer } from "node:buffer";
import { statSync } from "node:fs";
import { maskSecrets } from "../../audit/secrets.ts";
import { sha256 } from "../../db/chain.ts";
import { GateError } from "../../errors.ts";
import { parse } from "../../parse.ts";
import type { ParsedInput } from "../plan.ts";
import {
  DeleteFileInput,
  EditFileInput,
  MoveFileInput,
  ReadFileInput,
  RunCommandInput,
  WriteFileInput,
} from "./schema.ts";
import { isInside, resolveTarget } from "./target.ts";

/** The kernel starts no longer command line. */
const MAX_COMMAND_BYTES = 128 * 1024 - 1;

/** A validated input, and the bytes that a `write_file` writes. */
export interface Parsed {
  input: ParsedInput;
  content: Uint8Array | null;
}

/**
 * Validates the input of a tool; relative paths start at `root`. The input of a tool that the gate
 * does not execute is hashed and redacted. @throws GateError `invalid`
 */
export function parseInput(
  tool: string,
  raw: Record<string, unknown>,
  root: string,
  roots: readonly string[],
): Parsed {
  if (tool !== "write_file") return { input: parseOther(tool, raw, root, roots), content: null };
  const { content, ...rest } = parse(WriteFileInput, raw);
  return {
    input: inputOf(tool, "write", rest, root),
    content: bytesOf(content, rest.encoding),
  };
}

function parseOther(
  tool: string,
  raw: Record<string, unknown>,
  root: string,
  roots: readonly string[],
): ParsedInput {
  switch (tool) {
    case "edit_file":
      return inputOf(tool, "write", parse(EditFileInput, raw), root);
    case "delete_file":
      return inputOf(tool, "delete", parse(DeleteFileInput, raw), root);
    case "read_file":
      return inputOf(tool, "read", parse(ReadFileInput, raw), root);
    case "move_file":
      return moveOf(parse(MoveFileInput, raw), root);
    case "run_command":
      return commandOf(parse(RunCommandInput, raw), root, roots);
    default:
      return unknownOf(tool, raw);
  }
}

/** The edits of an `edit_file` input, which was validated when it was submitted. */
export function editsOf({ input }: ParsedInput): EditFileInput["edits"] {
  return (input as EditFileInput).edits;
}

/** The bytes of a content. @throws GateError `invalid` if it is not well-formed text or base64 */
export function bytesOf(content: string, encoding: "utf8" | "base64" = "utf8"): Uint8Array {
  if (encoding === "utf8") {
    if (content.isWellFormed()) return new TextEncoder().encode(content);
    throw new GateError("invalid", "Cannot use the content: it is not text; send it as base64");
  }
  const isBase64 = content.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(content);
  if (!isBase64) throw new GateError("invalid", "Cannot use the content: it is not valid base64");
  return Buffer.from(content, "base64");
}

/** @throws GateError `invalid` if a shell could not run the command. `verb` begins the message. */
export function checkCommand(command: string, verb: string): void {
  if (!command.isWellFormed() || command.includes("\0")) {
    throw new GateError("invalid", `Cannot ${verb}: it is not well-formed text`);
  }
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
    throw new GateError("invalid", `Cannot ${verb}: it is longer than 128 KiB`);
  }
}

/** @throws GateError `invalid` if the ledger cannot record a tool of this name */
export function checkToolName(tool: string): void {
  if (/^[\x21-\x7e]{1,256}$/.test(tool)) return;
  throw new GateError("invalid", "Cannot record the tool: its name is not plain ASCII");
}

function inputOf(
  tool: string,
  access: "read" | "write" | "delete",
  input: { path: string },
  root: string,
): ParsedInput {
  const target = resolveTarget(input.path, root);
  return { ...EMPTY, tool, path: target.shown, accesses: [{ access, target }], input };
}

function moveOf(input: MoveFileInput, root: string): ParsedInput {
  const from = resolveTarget(input.from, root);
  const to = resolveTarget(input.to, root);
  if (from.real === to.real) {
    throw new GateError("invalid", `Cannot move "${from.shown}": both paths are the same file`);
  }
  return {
    ...EMPTY,
    tool: "move_file",
    path: from.shown,
    accesses: [{ access: "write", target: to }, { access: "delete", target: from }],
    input,
  };
}

function commandOf(input: RunCommandInput, root: string, roots: readonly string[]): ParsedInput {
  const { command } = input;
  checkCommand(command, "run the command");
  if ((input.outside_sandbox === true) !== (input.reason !== undefined)) {
    const cause = '"outside_sandbox" and "reason" go together';
    const next = "say in the reason what the command needs beyond the sandbox, or send neither";
    throw new GateError("invalid", `Cannot run the command: ${cause}; ${next}`);
  }
  const cwd = folderOf(input.cwd, root, roots);
  return { ...EMPTY, tool: "run_command", command, cwd, input };
}

function folderOf(given: string | undefined, root: string, roots: readonly string[]): string {
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

function unknownOf(tool: string, raw: Record<string, unknown>): ParsedInput {
  checkToolName(tool);
  return { ...EMPTY, tool, ...recordedInput(raw) };
}

/** Of a tool that the gate does not execute the ledger keeps the hash and a redacted copy. */
export function recordedInput(raw: Record<string, unknown>) {
  return { input: redactObject(raw, 0), input_sha256: sha256(JSON.stringify(raw)) };
}

const EMPTY = { path: null, command: null, cwd: null, input_sha256: null, accesses: [] };

const MAX_TEXT = 4_096;
const MAX_ENTRIES = 100;
const MAX_DEPTH = 8;
const SECRET =
  /pass(word|phrase|wd)?$|secret|token|api_?key|credential|authorization|cookie|private_?key/i;

function redact(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cut(maskSecrets(value));
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "[too deep]";
  if (Array.isArray(value)) {
    const kept = value.slice(0, MAX_ENTRIES).map((entry) => redact(entry, depth + 1));
    const left = value.length - kept.length;
    return left === 0 ? kept : [...kept, `[${left} more entries]`];
  }
  return redactObject(value as Record<string, unknown>, depth);
}

function redactObject(value: Record<string, unknown>, depth: number): Record<string, unknown> {
  const kept = new Map<string, unknown>();
  const entries = Object.entries(value);
  for (const [name, entry] of entries.slice(0, MAX_ENTRIES)) {
    const shown = SECRET.test(name) ? "[redacted]" : redact(entry, depth + 1);
    kept.set(unused(cut(maskSecrets(name)), kept), shown);
  }
  const left = entries.length - kept.size;
  if (left > 0) kept.set(unused(`[${left} more fields]`, kept), "[not kept]");
  return Object.fromEntries(kept);
}

/** The name, or one like it: of two names that are the same when they are cut, both stay. */
function unused(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name} [${count}]`;
  return free;
}

function cut(text: string): string {
  const whole = text.toWellFormed();
  if (whole.length <= MAX_TEXT) return whole;
  return `${whole.slice(0, MAX_TEXT).toWellFormed()} [${whole.length - MAX_TEXT} more characters]`;
}
