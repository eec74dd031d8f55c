import { isStatic } from "../holes.ts";
import type { Call, Runner } from "./call.ts";

/** What programs call the option that names the file or folder they write. */
const OUTPUT =
  /^--?(?:o|out|output|out-?(?:file|dir|path|name)|output[-_]?(?:file|dir|directory|path|document|folder)|dest|dest[-_]?(?:dir|file|path)|destination|target|target[-_]dir(?:ectory)?|install[-_]dir|pack-destination|log-?file|report[-_]?(?:file|dir)|result[-_]?file|coverprofile|cpuprofile|memprofile|keyout)$/i;

/** Programs whose last operand is what they write. */
const LAST = new Set(["ffmpeg", "convert", "sox", "objcopy", "mksquashfs", "virtualenv"]);

const MOST_WORDS = 40;

/**
 * The files that a program without a row of its own most likely writes, by the names of its options:
 * nobody has read its manual, so a rule against one of them holds it, and no more.
 */
export function touchOutputs(
  name: string,
  argv: readonly string[],
  call: Call,
  run: Runner,
): void {
  for (const [at, word] of argv.entries()) {
    if (at >= MOST_WORDS || word === "--") break;
    const path = outputOf(word, argv[at + 1]);
    if (path !== undefined && isPath(path)) run.touch("write", path, call, { guessed: true });
  }
  const last = argv.at(-1)!;
  if (argv.length > 1 && LAST.has(name) && isPath(last)) {
    run.touch("write", last, call, { guessed: true });
  }
}

function outputOf(word: string, next: string | undefined): string | undefined {
  if (!word.startsWith("-")) return undefined;
  const attached = /^-o(?![a-z-]*=)([./~].*)$/s.exec(word)?.[1];
  if (attached !== undefined) return attached;
  const at = word.indexOf("=");
  if (at > 0) return OUTPUT.test(word.slice(0, at)) ? word.slice(at + 1) : undefined;
  return OUTPUT.test(word) ? next : undefined;
}

function isPath(text: string): boolean {
  return text !== "" && isStatic(text) && !/^-|^\w+:|\s/.test(text);
}
