import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ToolError } from "../../errors.ts";
import type { Depth } from "../family.ts";
import { splitWords } from "../markdown_routes.ts";
import { type CliPage, explore, type ProgramOptions, savedPage } from "./explore.ts";

/**
 * The pages of what `--from-help` names: a program (with words that belong to it), which is asked,
 * or `name=file` with a text that somebody has saved. @throws ToolError
 */
export async function pagesOf(
  given: string,
  depth: Depth,
  options: ProgramOptions,
): Promise<CliPage[]> {
  const saved = /^([^\s=]+)=(.+)$/s.exec(given);
  if (!saved) {
    const program = splitWords(given);
    if (program.length === 0) {
      throw new ToolError("Cannot read the help of nothing: name a program");
    }
    return await explore(program, depth, options);
  }
  const [, name = "", file = ""] = saved;
  const page = savedPage(name, readText(resolve(options.cwd, file)));
  if (page.options.length + page.commands.length > 0) return [page];
  throw new ToolError(`Cannot generate from ${file}: it names no option and no command`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ToolError(`Cannot read "${path}": ${(cause as Error).message}`, { cause });
  }
}
