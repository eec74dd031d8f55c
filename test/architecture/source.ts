import { posix } from "node:path";
import { parseSync } from "rolldown/utils";

/** One import, dynamic import or re-export of a source file. */
export interface Import {
  specifier: string;
  /** The imported file, from the repository's root; `null` for a package. */
  file: string | null;
  /** Vanishes when the types do. */
  isType: boolean;
}

/** A syntax node with the way that leads to it. */
export interface Node {
  type: string;
  start: number;
  end: number;
  [key: string]: unknown;
}

export interface Source {
  path: string;
  text: string;
  imports: Import[];
  comments: { text: string; line: number }[];
  /** Calls `see` for each node of the syntax tree. */
  walk: (see: (node: Node, parent: Node | null) => void) => void;
  lineOf: (offset: number) => number;
  /** Does nothing but pass on what other files of ours export. */
  isBarrel: boolean;
}

/** Reads the facts of one TypeScript file that the rules need. @throws Error where it does not parse */
export function readSource(path: string, text: string): Source {
  const parsed = parseSync(path, text, { lang: path.endsWith("x") ? "tsx" : "ts" });
  if (parsed.errors.length > 0) throw new Error(`${path}: ${parsed.errors[0]!.message}`);
  const program = parsed.program as unknown as Node;
  const lineOf = (offset: number) => text.slice(0, offset).split("\n").length;
  return {
    path,
    text,
    imports: importsOf(path, program),
    comments: parsed.comments.map((c) => ({ text: c.value, line: lineOf(c.start) })),
    walk: (see) => walk(program, null, see),
    lineOf,
    isBarrel: isBarrel(program),
  };
}

/** The value of a string or of a template without its holes; `null` for any other node. */
export function textOf(node: Node): string | null {
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  if (node.type !== "TemplateLiteral") return null;
  const parts = node.quasis as { value: { cooked: string | null } }[];
  return parts.map((part) => part.value.cooked ?? "").join("?");
}

function importsOf(path: string, program: Node): Import[] {
  const found: Import[] = [];
  walk(program, null, (node) => {
    const specifier = specifierOf(node);
    if (specifier !== null) found.push(toImport(path, specifier, isTypeOnly(node)));
  });
  return found;
}

function specifierOf(node: Node): string | null {
  const source = node.source as Node | null | undefined;
  if (/^(Import|Export\w*)Declaration$|^ImportExpression$/.test(node.type) && source) {
    return textOf(source);
  }
  if (node.type === "TSImportType") return textOf((node.source ?? node.argument) as Node);
  return null;
}

function toImport(path: string, specifier: string, isType: boolean): Import {
  const isFile = specifier.startsWith("./") || specifier.startsWith("../");
  return { specifier, isType, file: isFile ? posix.join(posix.dirname(path), specifier) : null };
}

function isTypeOnly(node: Node): boolean {
  if (node.type === "TSImportType") return true;
  if (node.importKind === "type" || node.exportKind === "type") return true;
  const names = (node.specifiers ?? []) as { importKind?: string; exportKind?: string }[];
  return names.length > 0 &&
    names.every((name) => name.importKind === "type" || name.exportKind === "type");
}

function isBarrel(program: Node): boolean {
  const body = program.body as Node[];
  return body.length > 0 && body.every((node) => {
    const source = /^Export(All|Named)Declaration$/.test(node.type) && node.source as Node | null;
    return source && textOf(source)!.startsWith(".");
  });
}

function walk(node: Node, parent: Node | null, see: (node: Node, parent: Node | null) => void) {
  see(node, parent);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, node, see);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
