import { findNodeAtLocation, parseTree } from "jsonc-parser";
import { LineCounter, parseDocument } from "yaml";
import { ToolError } from "../errors.ts";
import { isHar, readHar } from "./har.ts";
import { readMarkdown } from "./markdown_routes.ts";
import { readOpenApi } from "./openapi.ts";
import type { Operation } from "./operation.ts";
import { isPostman, readPostman } from "./postman.ts";

/**
 * The operations that a document speaks of: OpenAPI 3 (JSON or YAML), a HAR recording, a Postman
 * collection, or Markdown with route tables and curl blocks. @throws ToolError naming the line
 */
export function operationsOf(text: string, name: string): Operation[] {
  const operations = readAny(text, name).map((operation) => ({ ...operation, source: name }));
  if (operations.length > 0) return operations;
  throw new ToolError(`Cannot generate from ${name}: it names no endpoint`, {
    next: "give an OpenAPI 3 document, a HAR recording, a Postman collection or Markdown",
  });
}

function readAny(text: string, name: string): Operation[] {
  if (/\.(md|markdown)$/i.test(name)) return readMarkdown(text);
  const { value, lineOf } = /^\s*[{[]/.test(text) ? readJson(text, name) : readYaml(text, name);
  if (isHar(value)) return readHar(value);
  if (isPostman(value)) return readPostman(value);
  try {
    return readOpenApi(value, lineOf);
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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ToolError(`Cannot read ${name}: ${(cause as Error).message}`, { cause });
  }
  const tree = parseTree(text);
  const starts = lineStarts(text);
  const lineOf = (path: string[]) => {
    const node = tree && findNodeAtLocation(tree, path);
    return node ? lineAt(starts, node.offset) : null;
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
  try {
    // Aliases that multiply (a YAML bomb) are refused by the parser's own limit.
    return { value: document.toJS({ maxAliasCount: 100 }), lineOf };
  } catch (cause) {
    throw new ToolError(`Cannot read ${name}: ${(cause as Error).message}`, { cause });
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let i = text.indexOf("\n"); i !== -1; i = text.indexOf("\n", i + 1)) starts.push(i + 1);
  return starts;
}

function lineAt(starts: number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
