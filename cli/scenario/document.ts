import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { z } from "zod";
import { ToolError } from "./errors.ts";
import { meantName } from "./misspelt.ts";
import { placeAt, TOO_DEEP, tooDeepAt } from "./place.ts";
import { Check, Exec, Scenario } from "./schema.ts";

/** A mistake in a document, with its place. */
export interface Finding {
  pointer: string;
  line: number;
  column: number;
  message: string;
}

/** The scenarios of a document, or the mistakes in it. */
export interface ReadDocument {
  scenarios: Scenario[];
  findings: Finding[];
}

/** At most this many findings are reported for one document. */
const FINDINGS = 100;

/** Reads `{ "scenarios": [...] }` or a bare array. Unknown keys are kept. */
export function readDocument(given: string): ReadDocument {
  const text = given.replace(/^\uFEFF/, "");
  const broken = syntaxFinding(text);
  const tree = broken ? undefined : parseTree(text);
  if (broken || !tree) return { scenarios: [], findings: broken ? [broken] : [] };
  const twice = duplicateKeys(tree, text);
  if (twice.length > 0) return { scenarios: [], findings: twice.slice(0, FINDINGS) };
  const list = listOf(tree);
  if (!list) return { scenarios: [], findings: [noListFinding(tree, text)] };
  return readList(tree, list, text);
}

/** The scenarios of a document. @throws ToolError that lists the mistakes */
export function mustRead(text: string, name: string): Scenario[] {
  const { scenarios, findings } = readDocument(text);
  if (findings.length === 0) return scenarios;
  const shown = findings.slice(0, 10).map((finding) => formatFinding(finding, name));
  if (findings.length > 10) shown.push(`… and ${findings.length - 10} more`);
  throw new ToolError(shown.join("\n"), { next: `scenario-tool validate ${name}` });
}

/** `file:line:column pointer message`, the form that editors and CI recognise. */
export function formatFinding({ line, column, pointer, message }: Finding, name: string): string {
  return `${name}:${line}:${column} ${pointer || "/"} ${message}`;
}

function readList(tree: Node, list: Node, text: string): ReadDocument {
  const base = list === tree ? [] : ["scenarios"];
  const scenarios: Scenario[] = [];
  const findings: Finding[] = [];
  const seen = new Map<string, number>();
  (list.children ?? []).forEach((node, index) => {
    const at = (path: PropertyKey[], message: string) =>
      findings.push(findingAt(tree, text, [...base, index, ...path], message));
    misspeltKeys(node).forEach(({ path, message }) => at(path, message));
    const read = Scenario.safeParse(getNodeValue(node));
    if (!read.success) {
      return read.error.issues.forEach((issue) => at(issue.path, wordsOf(issue, node)));
    }
    const id = read.data.scenario_id;
    const first = seen.get(id);
    if (first !== undefined) at(["scenario_id"], `${id} is also the id of scenario ${first + 1}`);
    else seen.set(id, index);
    scenarios.push(read.data);
  });
  return { scenarios, findings: findings.slice(0, FINDINGS) };
}

/** The objects of a scenario with a closed vocabulary. Elsewhere other tools may add members. */
const VOCABULARY: { at: string[]; known: string[] }[] = [
  { at: [], known: Object.keys(Scenario.shape) },
  { at: ["exec"], known: Object.keys(Exec.shape) },
  { at: ["exec", "check"], known: Object.keys(Check.shape) },
];

/**
 * Unknown keys that are one typing error away from a known one which is absent. The tool keeps other
 * unknown keys, but ignoring `expected_satus` would make a test pass that checks nothing.
 */
function misspeltKeys(node: Node): { path: string[]; message: string }[] {
  return VOCABULARY.flatMap(({ at, known }) => {
    const object = at.length === 0 ? node : findNodeAtLocation(node, at);
    if (object?.type !== "object") return [];
    const given = (object.children ?? []).map(({ children }) => String(children?.[0]?.value));
    const absent = known.filter((name) => !given.includes(name));
    return given.filter((name) => !known.includes(name)).flatMap((name) => {
      const meant = meantName(name, absent);
      if (meant === null) return [];
      return [{ path: [...at, name], message: `is not known; did you mean ${meant}?` }];
    });
  });
}

function listOf(tree: Node): Node | null {
  if (tree.type === "array") return tree;
  const node = tree.type === "object" ? findNodeAtLocation(tree, ["scenarios"]) : undefined;
  return node?.type === "array" ? node : null;
}

function wordsOf(issue: z.core.$ZodIssue, node: Node): string {
  if (issue.code === "invalid_type") {
    const given = findNodeAtLocation(node, issue.path as (string | number)[]);
    if (!given) return "is required";
    const article = /^[aeiou]/.test(issue.expected) ? "an" : "a";
    return `must be ${article} ${issue.expected}, not ${
      given.type === "null" ? "null" : `a ${given.type}`
    }`
      .replace("not a array", "not an array").replace("not a object", "not an object");
  }
  if (issue.code === "invalid_value") {
    return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
  }
  return issue.message.replace(/^Invalid input: /, "");
}

function findingAt(tree: Node, text: string, path: PropertyKey[], message: string): Finding {
  const pointer = "/" + path.map(String).map(escapeToken).join("/");
  return { pointer, ...placeAt(text, offsetOf(tree, path)), message };
}

/** The offset of the value, or of the nearest existing value around it. */
function offsetOf(tree: Node, path: PropertyKey[]): number {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, path.slice(0, length) as (string | number)[]);
    if (node) return node.offset;
  }
  return tree.offset;
}

/** Why a text is no JSON, with the place; null for JSON. */
export function syntaxFinding(text: string): Finding | null {
  const at = (offset: number, message: string) => ({
    pointer: "",
    ...placeAt(text, offset),
    message,
  });
  if (text.trim() === "") return at(0, "is empty: expected JSON");
  const deep = tooDeepAt(text);
  if (deep !== null) return at(deep, TOO_DEEP);
  const errors: ParseError[] = [];
  parseTree(text, errors, { disallowComments: true });
  const [error] = errors;
  if (!error) return null;
  const what = printParseErrorCode(error.error).replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
  return at(error.offset, `is not valid JSON: ${WORDS[what] ?? what}`);
}

/** The parser's words, for a person. */
const WORDS: Record<string, string> = {
  "invalid symbol": "this word is not JSON (texts need double quotes)",
  "property name expected": 'a name in double quotes is expected (or there is a "," too many)',
  "value expected": 'a value is expected (or there is a "," too many)',
  "comma expected": 'a "," is missing before this',
  "colon expected": 'a ":" is missing before this',
  "close brace expected": 'the "}" is missing',
  "close bracket expected": 'the "]" is missing',
  "end of file expected": "the document ends before this",
  "invalid comment token": "JSON has no comments",
  "unexpected end of string": "the closing double quote is missing",
};

function noListFinding(tree: Node, text: string): Finding {
  const given = tree.type === "object" ? findNodeAtLocation(tree, ["scenarios"]) : undefined;
  const pointer = given ? "/scenarios" : "";
  const message = 'must be an array of scenarios, or an object with one under "scenarios"';
  return { pointer, ...placeAt(text, (given ?? tree).offset), message };
}

/** In JSON the last of two equal keys wins silently, which nobody intends. */
function duplicateKeys(node: Node, text: string, pointer = ""): Finding[] {
  const found: Finding[] = [];
  const names = new Set<string>();
  (node.children ?? []).forEach((child, index) => {
    const [key, value] = child.type === "property" ? child.children! : [undefined, child];
    const token = key ? String(key.value) : String(index);
    const here = `${pointer}/${escapeToken(token)}`;
    if (key && names.has(token)) {
      found.push({ pointer: here, ...placeAt(text, key.offset), message: "is given twice" });
    }
    names.add(token);
    if (value) found.push(...duplicateKeys(value, text, here));
  });
  return found;
}

function escapeToken(token: string): string {
  return token.replaceAll("~", "~0").replaceAll("/", "~1");
}
