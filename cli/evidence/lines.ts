import { createReadStream } from "node:fs";
import { CliError } from "../errors.ts";

/** No line that gate writes comes near to this. */
const LONGEST = 16 * 1024 * 1024;

/** The lines of a file, one at a time: however large it is, memory is not. @throws CliError */
export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
    if (rest.length > LONGEST) {
      throw new CliError(`Cannot read "${path}": it has a line too long for anything of gate's`);
    }
  }
  if (rest !== "") yield rest;
}
