import type { HereDoc, Redirect, Redirection, Word } from "unbash";
import { ANY, isWild } from "../holes.ts";
import type { Call } from "./call.ts";
import { type Context, expandBody, expandText, expandWord } from "./expand.ts";
import { absolutePath } from "./state.ts";
import type { Recorder } from "./recorder.ts";

/** The result of redirections: a command's new input, and a function that captures its output. */
export interface Redirected {
  stdin: string | null;
  /** The file that is the input. */
  source: string | null;
  capture: (printed: string) => string;
}

/** The result without a redirection. */
export const UNCHANGED: Redirected = {
  stdin: null,
  source: null,
  capture: (printed) => printed,
};

/** Applies redirections in order and records the files that they open. */
export function redirect(
  redirects: readonly Redirection[],
  call: Call,
  context: Context,
  recorder: Recorder,
): Redirected {
  let stdin: string | null = null;
  let source: string | null = null;
  const captures: ((printed: string) => string)[] = [];
  for (const one of redirects) {
    context.spend(12);
    if (one.type !== "HereDoc" && one.target && hasParentheses(one.target)) {
      context.doubt("zsh may run code in these parentheses", one.target.text);
    }
    if (one.type === "HereDoc") stdin = hereDoc(one, context);
    else if (one.type === "HereString") {
      stdin = one.target ? `${only(expandText(one.target, context))}\n` : ANY;
    } else {
      const opened = open(one, call, context, recorder);
      if (opened.stdin !== null) ({ stdin, source } = opened);
      if (opened.capture) captures.push(opened.capture);
    }
  }
  if (captures.length === 0) return { stdin, source, capture: UNCHANGED.capture };
  // Bash writes to the last file, zsh to all of them.
  const capture = (printed: string) => captures.map((one) => one(printed)).at(-1)!;
  return { stdin, source, capture };
}

function hasParentheses({ parts, text }: Word): boolean {
  const open = (part: string) => /(?<!\\)[()]/.test(part);
  return parts ? parts.some((part) => part.type === "Literal" && open(part.text)) : open(text);
}

function hereDoc(node: HereDoc, context: Context): string {
  const delimiter = node.delimiter?.text ?? "";
  if (!/^(["']?)[\w.-]+\1$|^\\\w+$/.test(delimiter)) {
    context.doubt("shells end this here-document at different lines", delimiter);
  }
  if (!node.closing) context.doubt("a here-document has no end", node.body.text.slice(0, 80));
  if (node.delimiter?.quoted || !node.body.parts) return node.body.text;
  return only(expandBody(node.body.parts, context));
}

/** The only possible text; several make it unknown. */
function only(texts: string[]): string {
  return texts.length === 1 ? texts[0]! : ANY;
}

function open(
  node: Redirect,
  call: Call,
  context: Context,
  recorder: Recorder,
): Omit<Redirected, "capture"> & { capture: Redirected["capture"] | null } {
  const nothing = { stdin: null, source: null, capture: null };
  if (!node.target) return nothing;
  if (node.target.text.startsWith("!")) {
    recorder.doubt('zsh reads ">!" as a redirect to the name after it', node.target.text, call);
  }
  const lists = expandWord(node.target, context);
  const paths = lists.map((fields) => fields.length === 1 ? fields[0]! : ANY);
  // fish reads "<?" and ">?" as operators.
  if (node.target.text.startsWith("?")) paths.push(...paths.map((path) => path.slice(1)));
  if (isDuplicate(node, paths)) {
    const other = node.operator === "<&" && isInput(node) && paths[0] !== "0" && paths[0] !== "-";
    return { stdin: other ? ANY : null, source: null, capture: copiesAway(node) };
  }
  if (/^[<>]&$/.test(node.operator) && !paths.every((path) => /^[\w./-]*$/.test(path))) {
    context.doubt("bash expands this name a second time", node.target.text);
  }
  const reads = node.operator === "<" || node.operator === "<>" || node.operator === "<&";
  const writes = node.operator !== "<" && node.operator !== "<&";
  for (const path of paths) {
    if (isWild(path)) recorder.unresolved(node.target.text, call);
    if (reads) recorder.touch("read", path, call);
    if (writes) recorder.touch("write", path, call);
  }
  if (!writes) {
    const source = paths.length === 1 && isInput(node) ? paths[0]! : null;
    return { stdin: readFrom(node, paths, call), source, capture: null };
  }
  const full = absolutePath(paths[0]!, call.shell.cwd);
  const appends = node.operator === ">>" || node.operator === "&>>";
  const capture = isOutput(node) ? keep(full, appends, call) : null;
  return { stdin: null, source: null, capture };
}

/** Whether the redirection opens no file: `2>&1`, `>&-`, `<&3`. */
function isDuplicate(node: Redirect, paths: string[]): boolean {
  if (node.operator !== ">&" && node.operator !== "<&") return false;
  return paths.every((path) => /^(\d+-?|-)$/.test(path));
}

function copiesAway(node: Redirect): ((printed: string) => string) | null {
  return node.operator === ">&" && isOutput(node) ? () => "" : null;
}

function isOutput(node: Redirect): boolean {
  if (node.descriptor === undefined) return true;
  return node.descriptor.type === "FileDescriptor" && node.descriptor.value === 1;
}

function isInput(node: Redirect): boolean {
  if (node.descriptor === undefined) return true;
  return node.descriptor.type === "FileDescriptor" && node.descriptor.value === 0;
}

function readFrom(node: Redirect, paths: string[], call: Call): string | null {
  if (!isInput(node)) return null;
  if (paths.length !== 1) return ANY;
  if (paths[0] === "/dev/null") return "";
  return call.shell.files.get(absolutePath(paths[0]!, call.shell.cwd)) ?? ANY;
}

/** Remembers output in a file, because the same script may read or run it later. */
function keep(path: string, appends: boolean, call: Call): (printed: string) => string {
  const { shell } = call;
  const before = appends ? shell.files.get(path) ?? ANY : "";
  return (printed) => {
    shell.files.set(path, before + printed);
    return "";
  };
}
