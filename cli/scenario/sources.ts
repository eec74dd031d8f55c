import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { visibleLine } from "../terminal/visible.ts";
import { mustRead } from "./document.ts";
import { ToolError } from "./errors.ts";
import { CLI_TARGET, parseTarget } from "./execute/target.ts";
import type { Depth } from "./generate/family.ts";
import type { CliPage, ProgramOptions } from "./generate/help/explore.ts";
import type { Operation } from "./generate/operation.ts";
import type { Scenario } from "./schema.ts";

/** Where scenarios are taken from, in the order in which they are put together. */
export interface SourceOptions {
  scenarios: string[];
  spec?: string[];
  /** Programs whose `--help` is read, or `name=file`. */
  fromHelp?: string[];
  depth?: Depth;
  budget?: number;
  /** Where a `--spec` that is a URL is fetched from, and nowhere else. */
  target?: string;
  header?: Record<string, string>;
  insecure?: true;
  /** Fills secrets into what is sent for it. */
  fill?: (text: string) => string;
}

/** What sources are read with; advice goes to stderr. */
export interface SourceIo extends ProgramOptions {
  stderr?: { write: (text: string) => unknown };
}

/** The scenarios of every source; ids stay unique. @throws ToolError */
export async function loadScenarios(
  options: SourceOptions,
  io: SourceIo,
): Promise<Scenario[]> {
  const { cwd } = io;
  const { scenarios, spec } = withDefaults(options, cwd);
  const found = scenarios.flatMap((name) => mustRead(readText(name, cwd), name));
  if (spec.length > 0) {
    const { operationsOf } = await import("./generate/documents.ts");
    const { generateScenarios } = await import("./generate/generate.ts");
    const texts = await Promise.all(spec.map((name) => readSpec(name, options, cwd)));
    const read = spec.flatMap((name, n) => operationsOf(texts[n]!, shownName(name, cwd)));
    const operations = await placed(read, options, io);
    const { depth = "normal", budget } = options;
    found.push(...generateScenarios(operations, { depth, budget, first_id: nextId(found) }));
  }
  if (options.fromHelp?.length) found.push(...await fromHelp(options, io, nextId(found)));
  const seen = new Set<string>();
  for (const { scenario_id } of found) {
    if (seen.has(scenario_id)) {
      throw new ToolError(`Cannot put the sources together: ${scenario_id} stands in two of them`);
    }
    seen.add(scenario_id);
  }
  return found;
}

/** Below the target's base path, with a word where it seems to be left out. */
async function placed(
  operations: Operation[],
  { target: given }: SourceOptions,
  { stderr }: SourceIo,
): Promise<Operation[]> {
  if (given === undefined || given === CLI_TARGET.url) return operations;
  const { baseAdvice, belowBase } = await import("./generate/base_path.ts");
  const { base, url } = parseTarget(given);
  const advice = baseAdvice(operations, url, base);
  if (advice) stderr?.write(`${visibleLine(advice)}\n`);
  return belowBase(operations, base);
}

/** Below the working directory as code scanning and annotations know it: from there on. */
function shownName(name: string, cwd: string): string {
  if (/^https?:\/\//i.test(name)) return name;
  const path = relative(cwd, resolve(cwd, name)).replaceAll("\\", "/");
  return path.startsWith("..") || isAbsolute(path) ? name : path;
}

async function fromHelp(
  { fromHelp = [], depth = "normal", budget }: SourceOptions,
  io: ProgramOptions,
  first_id: number,
): Promise<Scenario[]> {
  const { pagesOf } = await import("./generate/help/help.ts");
  const { generateCliScenarios } = await import("./generate/generate.ts");
  const pages: CliPage[] = [];
  for (const given of fromHelp) pages.push(...await pagesOf(given, depth, io));
  return generateCliScenarios(pages, { depth, budget, first_id });
}

/** A file, or the target's own document. @throws ToolError */
async function readSpec(name: string, options: SourceOptions, cwd: string): Promise<string> {
  if (!/^https?:\/\//i.test(name)) return readText(name, cwd);
  const { fetchSpec } = await import("./generate/fetch_spec.ts");
  return await fetchSpec(name, options);
}

/** The text of a file, relative to the working directory. @throws ToolError */
export function readText(name: string, cwd: string): string {
  try {
    return readFileSync(resolve(cwd, name), "utf8");
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === "ENOENT"
      ? "there is no such file"
      : (cause as Error).message;
    throw new ToolError(`Cannot read "${name}": ${why}`, { cause });
  }
}

/** Without any source: what stands in the working directory under the usual names. */
function withDefaults(
  options: SourceOptions,
  cwd: string,
): { scenarios: string[]; spec: string[] } {
  const { scenarios, spec = [], fromHelp = [] } = options;
  if (scenarios.length + spec.length + fromHelp.length > 0) return { scenarios, spec };
  const here = (name: string) => existsSync(resolve(cwd, name));
  if (here("scenarios.json")) return { scenarios: ["scenarios.json"], spec };
  const found = ["openapi.json", "openapi.yaml", "openapi.yml"].find(here);
  return { scenarios, spec: found ? [found] : [] };
}

function nextId(scenarios: Scenario[]): number {
  const numbers = scenarios.map(({ scenario_id }) => Number(scenario_id.slice(3)));
  return numbers.reduce((most, number) => Math.max(most, number), 0) + 1;
}
