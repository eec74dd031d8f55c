import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { CliError, reasonOf } from "../errors.ts";
import type { Io } from "../io.ts";

const LONGEST_LINE = 16 * 1024 * 1024;

/** The lines of a stream; keeps at most one line in memory. @throws CliError over 16 MiB a line */
export async function* readLines(stream: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    rest += typeof chunk === "string"
      ? chunk
      : decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop()!;
    yield* lines;
    if (rest.length > LONGEST_LINE) {
      throw new CliError("Cannot read standard input: a line is longer than 16 MiB");
    }
  }
  if (rest !== "") yield rest;
}

/** The value of a `-d` option, as in curl: the text itself, `@file`, or `-` for standard input. */
export async function readData(io: Io, given: string): Promise<string> {
  if (given === "-" || given === "@-") return await text(io.stdin);
  return given.startsWith("@") ? await readNamed(io, given.slice(1)) : given;
}

/** The text of a file that the user named. @throws CliError with the cause */
export async function readNamed(io: Io, file: string, next?: string): Promise<string> {
  try {
    return await readFile(resolve(io.cwd, file), "utf8");
  } catch (cause) {
    throw new CliError(`Cannot read "${file}": ${reasonOf(cause)}`, next ? { next } : {});
  }
}
