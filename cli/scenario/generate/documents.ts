import { findNodeAtLocation, parseTree } from "jsonc-parser";
import { LineCounter, parseDocument } from "yaml";
import { syntaxFinding } from "../document.ts";
import { attempt, CORRECT_IT, ToolError } from "../errors.ts";
import { isObject } from "../json.ts";
import { meantName } from "../misspelt.ts";
import { placeAt, TOO_DEEP, tooDeepAt } from "../place.ts";
import { isHar, readHar } from "./har.ts";
import { readMarkdown } from "./markdown_routes.ts";
import { readOpenApi } from "./openapi.ts";
import { fromSwagger2, isSwagger2 } from "./swagger2.ts";
import { type Operation, seemsToChange } from "./operation.ts";
import { isPostman, readPostman } from "./postman.ts";

/**
 * The operations of a document: OpenAPI 3 or Swagger 2 (JSON or YAML), a HAR recording, a Postman collection, or
 * Markdown with route tables and curl blocks. @throws ToolError naming the line
 */
export function operationsOf(text: string, name: string): Operation[] {
  const operations = readAny(text, name).map((operation) => ({
    ...operation,
    source: name,
    ...(seemsToChange(operation) ? { changes: true } : {}),
  }));
  if (operations.length > 0) return operations;
  throw new ToolError(`Cannot generate from ${name}: it names no endpoint`, {
    next: "give an OpenAPI 3 document, a HAR recording, a Postman collection or Markdown",
  });
}

/**
 * Operations below the target's base path. A recording has whole paths, so the base is removed from
 * them if all paths begin with it.
 */
export function belowBase(operations: Operation[], base: string): Operation[] {
  const isWhole = base !== "" && operations.every(({ path }) => path.startsWith(`${base}/`));
  return isWhole
    ? operations.map((one) => ({ ...one, path: one.path.slice(base.length) }))
    : operations;
}

/** Advice when the target lacks the base path that the document names; else null. */
export function baseAdvice(operations: Operation[], target: string, base: string): string | null {
  const named = operations.find((one) => one.base)?.base;
  if (named === undefined || base.endsWith(named)) return null;
  const { source } = operations[0]!;
  return `${source} places all paths below ${named}; ` +
    `if this target does too, use --target ${target}${named}`;
}

function readAny(given: string, name: string): Operation[] {
  // Editors on Windows begin a file with a byte-order mark.
  const text = given.replace(/^\uFEFF/, "");
  if (/\.(md|markdown)$/i.test(name)) return readMarkdown(text);
  if (text.trim() === "") throw new ToolError(`Cannot read ${name}: it is empty`, { next: GIVE });
  const { value, lineOf } = /^\s*[{[]/.test(text) ? readJson(text, name) : readYaml(text, name);
  if (isHar(value)) return readHar(value);
  if (isPostman(value)) return readPostman(value);
  const why = whyNoDocument(value);
  if (why !== null) throw new ToolError(`Cannot read ${name}: ${why}`, { next: GIVE });
  return readOpenApi(isSwagger2(value) ? fromSwagger2(value) : value, lineOf);
}

const GIVE = "give an OpenAPI 3 or Swagger 2 document, a HAR recording or a Postman collection";

/** The fault of a document that is no OpenAPI 3 or Swagger 2; null for one that is. */
function whyNoDocument(value: unknown): string | null {
  if (!isObject(value)) {
    const kind = Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
    return `/ must be an object with "openapi" and "paths", not ${kind}`;
  }
  const { openapi, swagger, paths } = value;
  const other = OTHER_KINDS.find(([key]) => value[key] !== undefined)?.[1];
  if (openapi === undefined && swagger === undefined) {
    if (other !== undefined) return `it is ${other}, which this tool does not read`;
    const written = Object.keys(value).slice(0, 50)
      .map((key) => ({ key, meant: meantName(key, ["openapi", "swagger"]) }))
      .find(({ meant }) => meant !== null);
    return written
      ? `/${written.key} is not known; did you mean ${written.meant}?`
      : '/openapi is missing: an OpenAPI 3 document has "openapi": "3.1.0"';
  }
  if (openapi === undefined && String(swagger) !== "2.0" && swagger !== 2) {
    return `/swagger is ${shown(swagger)}: only "2.0" can be read`;
  }
  if (openapi !== undefined && !/^3(\.|$)/.test(String(openapi))) {
    return `/openapi is ${shown(openapi)}: only 3.0 and 3.1 can be read`;
  }
  if (paths === undefined) {
    const [written] = Object.keys(value).filter((key) => meantName(key, ["paths"]) !== null);
    return written === undefined
      ? "/paths is missing, so it names no endpoint"
      : `/${written} is not known; did you mean paths?`;
  }
  if (!isObject(paths)) {
    const kind = Array.isArray(paths) ? "an array" : paths === null ? "null" : `a ${typeof paths}`;
    return `/paths must be an object, not ${kind}`;
  }
  return whyNoPath(paths);
}

/** The first path or operation of a wrong kind; null without one. */
function whyNoPath(paths: Record<string, unknown>): string | null {
  for (const [path, item] of Object.entries(paths)) {
    const at = `/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (path.startsWith("x-")) continue;
    if (!isObject(item)) return `${at} must be an object with verbs such as "get"`;
    for (const [verb, operation] of Object.entries(item)) {
      if (!VERBS.includes(verb)) {
        const isLoud = VERBS.includes(verb.toLowerCase());
        if (isLoud) return `${at}/${verb} must be written ${verb.toLowerCase()}`;
        continue;
      }
      if (!isObject(operation)) return `${at}/${verb} must be an object`;
      const { parameters } = operation;
      if (parameters !== undefined && !Array.isArray(parameters)) {
        return `${at}/${verb}/parameters must be an array`;
      }
    }
  }
  return null;
}

const VERBS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/** Documents that people mistake for OpenAPI, by a key that tells them. */
const OTHER_KINDS: [string, string][] = [
  ["asyncapi", "an AsyncAPI document"],
  ["swaggerVersion", "a Swagger 1 document"],
  ["__schema", "a GraphQL schema"],
  ["$schema", "a JSON Schema"],
  ["arazzo", "an Arazzo document"],
  ["scenario_id", "a scenario (use --scenarios)"],
  ["scenarios", "a file of scenarios (use --scenarios)"],
  ["dependencies", "a package file"],
];

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 40);
}

interface Read {
  value: unknown;
  lineOf: (path: string[]) => number | null;
}

function readJson(text: string, name: string): Read {
  const wrong = syntaxFinding(text);
  if (wrong) {
    throw new ToolError(`Cannot read ${name}:${wrong.line}:${wrong.column}: it ${wrong.message}`, {
      next: CORRECT_IT,
    });
  }
  const value: unknown = attempt(`read ${name}`, CORRECT_IT, () => JSON.parse(text));
  const tree = parseTree(text);
  const counter = new LineCounter();
  counter.addNewLine(0);
  for (const { index } of text.matchAll(/\n/g)) counter.addNewLine(index + 1);
  const lineOf = (path: string[]) => {
    const node = tree && findNodeAtLocation(tree, path);
    return node ? counter.linePos(node.offset).line : null;
  };
  return { value, lineOf };
}

function readYaml(text: string, name: string): Read {
  const deep = tooDeepAt(text) ?? deepIndentAt(text);
  if (deep !== null) {
    const { line, column } = placeAt(text, deep);
    throw new ToolError(`Cannot read ${name}:${line}:${column}: it ${TOO_DEEP}`, { next: GIVE });
  }
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true });
  const error = document.errors[0];
  if (error) {
    const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 };
    const what = error.message.split("\n")[0]!.replace(/ at line \d+, column \d+:?$/, "");
    throw new ToolError(`Cannot read ${name}:${line}:${col}: it is not valid YAML: ${what}`, {
      next: CORRECT_IT,
    });
  }
  const lineOf = (path: string[]) => {
    const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
    return node?.range ? counter.linePos(node.range[0]).line : null;
  };
  // The limit refuses aliases that multiply (a YAML bomb).
  const value = attempt(`read ${name}`, CORRECT_IT, () => document.toJS({ maxAliasCount: 100 }));
  return { value, lineOf };
}

/** The offset of a line that block YAML nests too deeply, or of a line of many `- - -`. */
function deepIndentAt(text: string): number | null {
  const deep = /^(?: {400}|(?: *- ){200})/m.exec(text);
  return deep ? deep.index : null;
}
