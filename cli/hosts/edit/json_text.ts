import { getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser";
import { sayParseError } from "../../../server/config/load.ts";
import { CliError } from "../../errors.ts";
import { insertProperty, removeProperty, replaceValue } from "./json_splice.ts";
import { type Change, isElement, lineOf, type TextEditor } from "./text_editor.ts";

/** Strict JSON: a comment or a trailing comma is an error. */
export const JSON_TEXT = jsonEditor({ comments: false, trailing_commas: false });

/** JSON with comments and trailing commas. */
export const JSONC_TEXT = jsonEditor({ comments: true, trailing_commas: true });

/** JSON with comments, but without trailing commas. */
export const COMMENTED_JSON_TEXT = jsonEditor({ comments: true, trailing_commas: false });

interface Dialect {
  comments: boolean;
  trailing_commas: boolean;
}

function jsonEditor(dialect: Dialect): TextEditor {
  return {
    read(text, file) {
      const root = parseRoot(text, file, dialect);
      return root ? getNodeValue(root) as Record<string, unknown> : {};
    },
    change(text, change, file) {
      const root = parseRoot(text, file, dialect);
      if (root) return changeTree(text, root, change, file);
      if (change.value === undefined) return text;
      const eol = text.includes("\r\n") ? "\r\n" : "\n";
      const whole = text.trim() === "" ? `{}${eol}` : `${text.trimEnd()}${eol}{}${eol}`;
      return changeTree(whole, parseRoot(whole, file, dialect)!, change, file);
    },
  };
}

/** The object of the document; undefined when it holds only blanks and comments. */
function parseRoot(text: string, file: string, dialect: Dialect): Node | undefined {
  if (text.trim() === "") return undefined;
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, {
    disallowComments: !dialect.comments,
    allowTrailingComma: dialect.trailing_commas,
    allowEmptyContent: dialect.comments,
  });
  const [first] = errors;
  if (first) {
    throw broken(file, `${sayParseError(first)} at ${lineOf(text, first.offset)}`);
  }
  if (!dialect.comments) refuseLaxJson(text, file);
  if (root && root.type !== "object") throw broken(file, "it holds no object");
  return root;
}

// The parser of the tree accepts some texts that the hosts' own parsers refuse.
function refuseLaxJson(text: string, file: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    throw broken(file, (error as Error).message);
  }
}

function broken(file: string, why: string): CliError {
  return new CliError(`Cannot read "${file}": ${why}`, {
    next: `correct ${file}, then the same command`,
  });
}

function changeTree(text: string, root: Node, { path, value }: Change, file: string): string {
  let object = root;
  for (const [depth, key] of path.entries()) {
    if (object.type === "array" && isElement(key)) {
      const element = object.children?.[Number(key)];
      if (depth === path.length - 1) return changeList(text, { root, list: object, key, value });
      if (!element) throw noObject(file, path.slice(0, depth + 1));
      object = element;
      continue;
    }
    if (object.type !== "object") throw noObject(file, path.slice(0, depth));
    const found = propertiesNamed(object, key);
    if (found.length > 1) {
      throw new CliError(`Cannot edit "${file}": it has "${key}" twice in one object`, {
        next: `correct ${file}, then the same command`,
      });
    }
    const [property] = found;
    if (!property) {
      if (value === undefined) return text;
      return insertProperty(text, {
        root,
        object,
        key,
        value: nested(path.slice(depth + 1), value),
      });
    }
    if (depth === path.length - 1) {
      return value === undefined
        ? removeProperty(text, object, property)
        : replaceValue(text, { root, property, value });
    }
    object = property.children![1]!;
  }
  return text;
}

/** `-` appends an element; the index of an element can only remove it. */
function changeList(
  text: string,
  { root, list, key, value }: { root: Node; list: Node; key: string; value: unknown },
): string {
  if (key === "-") return insertProperty(text, { root, object: list, key: null, value });
  const element = list.children?.[Number(key)];
  return element && value === undefined ? removeProperty(text, list, element) : text;
}

function noObject(file: string, path: readonly string[]): CliError {
  return new CliError(`Cannot edit "${file}": ${path.join(".")} is no object`, {
    next: `correct ${file}, then the same command`,
  });
}

function propertiesNamed(object: Node, key: string): Node[] {
  return (object.children ?? []).filter(({ children }) => children?.[0]?.value === key);
}

function nested(path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  return { [key]: nested(rest, value) };
}
