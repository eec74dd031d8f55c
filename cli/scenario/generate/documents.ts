import { findNodeAtLocation, parseTree } from "jsonc-parser";
import { LineCounter, parseDocument } from "yaml";
import { attempt, ToolError } from "../errors.ts";
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
  const { value, lineOf } = /^\s*[{[]/.test(text) ? readJson(text, name) : readYaml(text, name);
  if (isHar(value)) return readHar(value);
  if (isPostman(value)) return readPostman(value);
  try {
    return readOpenApi(isSwagger2(value) ? fromSwagger2(value) : value, lineOf);
  } catch (error) {
    if (error instanceof ToolError) throw new ToolError(`${name}: ${error.message}`);
    throw error;
  }
}

interface Read {
  value: unknown;
  lineOf: (path: string[]) => number | null;
}

function readJson(text: string, name: string): Read {
  const value: unknown = attempt(`read ${name}`, () => JSON.parse(text));
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
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, uniqueKeys: true });
  const error = document.errors[0];
  if (error) throw new ToolError(`Cannot read ${name}: ${error.message.split("\n")[0]}`);
  const lineOf = (path: string[]) => {
    const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined;
    return node?.range ? counter.linePos(node.range[0]).line : null;
  };
  // The limit refuses aliases that multiply (a YAML bomb).
  const value = attempt(`read ${name}`, () => document.toJS({ maxAliasCount: 100 }));
  return { value, lineOf };
}
