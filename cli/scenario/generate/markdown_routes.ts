import { BEARER, type Operation } from "./operation.ts";
import { recordedBody, recordedOperation } from "./recorded.ts";

const METHOD = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/;
const LINES = 100_000;

/** The endpoints of a text: the rows of route tables and the curl commands. */
export function readMarkdown(text: string): Operation[] {
  const found = new Map<string, Operation>();
  const lines = text.split("\n").slice(0, LINES);
  let command = "";
  lines.forEach((line, index) => {
    const joined = command + line.trim();
    command = /^\$?\s*curl\b/.test(joined) && joined.endsWith("\\")
      ? `${joined.slice(0, -1)} `
      : "";
    if (command !== "") return;
    for (const operation of [rowOf(line), curlOf(joined)]) {
      if (!operation) continue;
      const key = `${operation.method} ${operation.path}`;
      const known = found.get(key);
      // A curl command has a body, and a table row has none.
      if (!known || (operation.body && !known.body)) {
        found.set(key, { ...operation, line: index + 1 });
      }
    }
  });
  return [...found.values()];
}

function rowOf(line: string): Operation | null {
  if (!line.trimStart().startsWith("|")) return null;
  const cells = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
  const at = cells.findIndex((cell) => METHOD.test(cell));
  const path = cells.slice(at + 1).find((cell) => /^\/[^\s]*$/.test(cell));
  if (at === -1 || !path) return null;
  const summary = cells.slice(at + 2).find((cell) => cell !== "" && cell !== path);
  return operationOf(cells[at]!, path, summary);
}

function curlOf(line: string): Operation | null {
  const match = /^\$?\s*curl\s+(.*)$/.exec(line);
  if (!match) return null;
  const words = splitWords(match[1]!);
  let method: string | null = null;
  let body: string | null = null;
  let url: string | null = null;
  let type = "application/json";
  let secured = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (/^(-X|--request)$/.test(word)) method = words[++at] ?? null;
    else if (/^(-d|--data|--data-raw|--data-binary|--json)$/.test(word)) body = words[++at] ?? null;
    else if (/^(-H|--header)$/.test(word)) {
      const header = words[++at] ?? "";
      if (/^authorization:/i.test(header)) secured = true;
      type = /^content-type:\s*(.*)$/i.exec(header)?.[1] ?? type;
    } else if (/^(-u|--user)$/.test(word)) secured = at++ >= 0;
    else if (/^(https?:\/\/|\/|\$|\{)/.test(word)) url = word;
  }
  const path = url?.replace(/^[a-z]+:\/\/[^/?#]*/i, "").replace(/^(\$\w+|\$?\{+\w+\}+)/, "");
  if (!path?.startsWith("/")) return null;
  const verb = (method ?? (body === null ? "GET" : "POST")).toUpperCase();
  if (!METHOD.test(verb)) return null;
  const operation = operationOf(verb, path);
  return {
    ...operation,
    body: body === null ? null : recordedBody(body, type),
    security: secured ? [BEARER] : [],
  };
}

function operationOf(method: string, url: string, summary?: string): Operation {
  const [given = "/", query = ""] = url.split("#")[0]!.split("?");
  const path = given.replaceAll(/\/:([A-Za-z_]\w*)/g, "/{$1}").replaceAll(/<([^<>/]+)>/g, "{$1}");
  const known = { method, path, query: new URLSearchParams(query) };
  return recordedOperation(summary === undefined ? known : { ...known, summary });
}

/** Splits simple commands into words as a shell does. */
export function splitWords(text: string): string[] {
  const words = text.match(/(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(
      /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g,
      (_whole, single, double, escaped) =>
        single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? escaped,
    )
  );
}
