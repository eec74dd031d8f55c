import { statSync } from "node:fs";
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import type { z } from "zod";
import { findForbidding, listUnknown, type UnknownKey } from "./misspelt.ts";
import { sayWrong, wordsOf } from "../issue.ts";
import type { ConfigFault } from "../policy/policy.ts";
import { Policies } from "../policy/schema.ts";
import { readSmallFile } from "../runtime/small_file.ts";

/** A config file as it was read. */
export interface Loaded<T> {
  value: T | null;
  text: string;
  /** The error, with file, line and column. */
  error: string | null;
  /** The parts of `error`. */
  fault: ConfigFault | null;
  /** Keys without effect. The gate keeps them in the file. */
  unknown: UnknownKey[];
}

const MAX_BYTES = 1_048_576;

/** A text that changes with the file; `absent` without a file. */
export function fingerprint(path: string): string {
  try {
    const { mtimeNs, ctimeNs, size, ino } = statSync(path, { bigint: true });
    return `${mtimeNs}-${ctimeNs}-${size}-${ino}`;
  } catch (error) {
    return (error as { code?: string }).code === "ENOENT" ? "absent" : "unreadable";
  }
}

/** Reads and validates a JSON file with comments. Never throws. */
export function loadConfig<T>(path: string, schema: z.ZodType<T>): Loaded<T> {
  let text: string;
  try {
    text = readSmallFile(path, MAX_BYTES);
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") {
      return NOTHING;
    }
    if (error instanceof TypeError) return notText(path);
    const why = error instanceof Error ? error.message : String(error);
    return unreadable(`Cannot read ${path}: ${why}`);
  }
  // Text in UTF-16 without a mark is valid UTF-8 with NUL characters.
  if (text.includes("\0")) return notText(path);
  return parseConfig(path, text, schema);
}

/** The reading of a missing file. */
export const NOTHING = { value: null, text: "", error: null, fault: null, unknown: [] };

function notText(path: string): Loaded<never> {
  return broken({ path, text: "", offset: 0 }, "the file is not UTF-8; save it as UTF-8");
}

function unreadable(cause: string): Loaded<never> {
  const fault = { path: null, line: null, column: null, cause };
  return { ...NOTHING, error: cause, fault };
}

/** Validates the text of a config file. The error names `path`. */
export function parseConfig<T>(path: string, text: string, schema: z.ZodType<T>): Loaded<T> {
  const at = (offset: number) => ({ path, text, offset });
  if (text.trim() === "") return broken(at(0), "the file is empty");
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first || !tree) {
    const what = first ? `not valid JSON: ${sayParseError(first)}` : "it holds no value";
    return broken(at(first?.offset ?? 0), what);
  }
  const twice = duplicateKey(tree);
  if (twice) {
    return broken(at(twice.offset), `the key "${twice.value}" appears twice`);
  }
  const checked = schema.safeParse(getNodeValue(tree));
  if (checked.success) {
    const unknown = listUnknown(tree, schema);
    const wrong = findForbidding(unknown);
    if (!wrong) return { ...NOTHING, value: checked.data, text, unknown };
    return broken(at(wrong.offset), `"${wrong.key}" has no effect: did you mean "${wrong.meant}"?`);
  }
  const issue = checked.error.issues[0]!;
  const node = nearest(tree, wordsOf(issue).path as (string | number)[]);
  return broken(at(node.offset), sayWrong(issue));
}

/** The first error of policies that a client sent, with the next step; null when they are usable. */
export function checkPolicies(policies: unknown): string | null {
  const checked = Policies.safeParse(policies);
  if (!checked.success) {
    const { path, message } = wordsOf(checked.error.issues[0]!);
    return `"${path.join("/")}": ${message}; correct it`;
  }
  const wrong = findForbidding(listUnknown(parseTree(JSON.stringify(policies))!, Policies));
  return wrong && `"${wrong.key}" has no effect; did you mean "${wrong.meant}"?`;
}

function broken({ path, text, offset }: Place, cause: string): Loaded<never> {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const column = offset - before.lastIndexOf("\n");
  const error = `${path}:${line}:${column}: ${cause}`;
  return { ...NOTHING, text, error, fault: { path, line, column, cause } };
}

interface Place {
  path: string;
  text: string;
  offset: number;
}

/** A parse error in words, such as "value expected". */
export function sayParseError({ error }: ParseError): string {
  const code = printParseErrorCode(error);
  if (code === "InvalidCommentToken") return "comments are not allowed";
  return code.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}

/** The node at a path, or its nearest ancestor. */
function nearest(tree: Node, path: (string | number)[]): Node {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length));
    if (node) return node;
  }
  return tree;
}

/** The second of two equal keys, which would silently win over the first. */
function duplicateKey(node: Node): Node | null {
  const seen = new Set<unknown>();
  for (const child of node.children ?? []) {
    const key = child.type === "property" ? child.children?.[0] : undefined;
    if (key && seen.has(key.value)) return key;
    if (key) seen.add(key.value);
    const deeper = duplicateKey(child);
    if (deeper) return deeper;
  }
  return null;
}
