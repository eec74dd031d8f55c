import { PassThrough, type Readable } from "node:stream";
import type { Io } from "../io.ts";

/** The typed keys that no question has read yet. */
interface Hidden {
  keys: PassThrough;
  read: (chunk: Uint8Array | string) => void;
}

const hidden = new WeakMap<Readable, Hidden>();

/**
 * Stops the terminal from showing what is typed, until `showTyping`. The next questions read what
 * was typed meanwhile, so a passphrase that comes before its question is neither shown nor lost.
 * Ctrl-C between two questions still ends the command.
 */
export function hideTyping(io: Io): void {
  const { stdin } = io;
  if (stdin.isTTY !== true || hidden.has(stdin)) return;
  const keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => keys });
  const decoder = new TextDecoder();
  const read = (chunk: Uint8Array | string) => {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    if (text.includes(CTRL_C) && keys.readableFlowing !== true) {
      showTyping(io);
      return io.interrupt();
    }
    // A line each: what follows the line that answers a question belongs to the next question.
    for (const [piece] of text.matchAll(PIECE)) keys.write(piece.replace(/\r?\n$/, "\r"));
  };
  hidden.set(stdin, { keys, read });
  stdin.setRawMode?.(true);
  stdin.on("data", read);
  stdin.resume();
}

/** Shows what is typed again. Forgets what no question has read. */
export function showTyping({ stdin }: Io): void {
  const known = hidden.get(stdin);
  if (!known) return;
  hidden.delete(stdin);
  stdin.off("data", known.read);
  stdin.pause();
  stdin.setRawMode?.(false);
  known.keys.end();
}

/** Runs `work` with the terminal as it was before `hideTyping`, such as an editor. */
export async function withShownTyping<T>(io: Io, work: () => Promise<T>): Promise<T> {
  if (!hidden.has(io.stdin)) return await work();
  showTyping(io);
  try {
    return await work();
  } finally {
    hideTyping(io);
  }
}

/** The input of a question: hidden keys if there are any. */
export function typedInput({ stdin }: Io): Readable {
  return hidden.get(stdin)?.keys ?? stdin;
}

/** The next key, such as `a`, or the whole sequence of an arrow key. Later keys wait. */
export function readKey(io: Io): Promise<string> {
  const input = typedInput(io);
  return new Promise((resolve) => {
    const take = (chunk: Uint8Array | string) => {
      input.off("data", take);
      input.pause();
      const text = String(chunk);
      const key = KEY.exec(text)![0];
      if (key.length < text.length) input.unshift(text.slice(key.length));
      resolve(key);
    };
    input.on("data", take);
    input.resume();
  });
}

/** Forgets what was typed and not read, such as a key from before a person saw its question. */
export function discardTyped({ stdin }: Io): void {
  const keys = hidden.get(stdin)?.keys;
  while (keys && keys.read() !== null);
}

const CTRL_C = "\x03";
const PIECE = /[^\r\n]*(?:\r\n?|\n)|[^\r\n]+/g;
// deno-lint-ignore no-control-regex
const KEY = /^(?:\x1b\[[0-9;]*[A-Za-z~]|[^])/u;
