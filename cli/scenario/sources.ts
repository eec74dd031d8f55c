import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { visibleLine } from "../terminal/visible.ts";
import { mustRead } from "./document.ts";
import { ToolError } from "./errors.ts";
import { sendRequest } from "./execute/http.ts";
import { CLI_TARGET, parseTarget } from "./execute/target.ts";
import type { Depth } from "./generate/family.ts";
import type { CliPage, ProgramOptions } from "./generate/help/explore.ts";
import type { Operation } from "./generate/operation.ts";
import type { Scenario } from "./schema.ts";

/** The sources of scenarios, in the order in which they are joined. */
export interface SourceOptions {
  scenarios: string[];
  spec?: string[];
  /** Programs whose `--help` is read, or `name=file`. */
  fromHelp?: string[];
  depth?: Depth;
  budget?: number;
  /** The only host from which a `--spec` URL is fetched. */
  target?: string;
  header?: Record<string, string>;
  insecure?: true;
  /** Fills secrets into the headers of that request. */
  fill?: (text: string) => string;
  /** The logins of the run. */
  as?: ReadonlyMap<string, unknown>;
  /** Improves the samples of the operations before scenarios are generated from them. */
  learn?: (operations: Operation[]) => Promise<Operation[]>;
}

/** Reads the sources; advice goes to stderr. */
export interface SourceIo extends ProgramOptions {
  stderr?: { write: (text: string) => unknown };
}

/** The scenarios of every source, with unique ids. @throws ToolError */
export async function loadScenarios(
  options: SourceOptions,
  io: SourceIo,
): Promise<Scenario[]> {
  const { cwd } = io;
  const { scenarios, spec } = withDefaults(options, cwd);
  const found = readAll(scenarios, cwd);
  if (spec.length > 0) {
    const { operationsOf } = await import("./generate/documents.ts");
    const { generateScenarios } = await import("./generate/generate.ts");
    const texts = await Promise.all(spec.map((name) => readSpec(name, options, cwd)));
    const read = spec.flatMap((name, n) => operationsOf(texts[n]!, shownName(name, cwd)));
    const there = await placed(read, options, io);
    const operations = options.learn ? await options.learn(there) : there;
    const { depth = "normal", budget } = options;
    const identities = [...(options.as?.keys() ?? [])];
    const first_id = nextId(found);
    found.push(...generateScenarios(operations, { depth, budget, first_id, identities }));
  }
  if (options.fromHelp?.length) found.push(...await fromHelp(options, io, nextId(found)));
  const seen = new Set<string>();
  for (const { scenario_id } of found) {
    if (seen.has(scenario_id)) {
      throw new ToolError(`Cannot join the sources: ${scenario_id} is in two of them`);
    }
    seen.add(scenario_id);
  }
  return found;
}

/** The scenarios of all files. @throws ToolError that tells of every bad file, not of the first */
function readAll(names: string[], cwd: string): Scenario[] {
  const found: Scenario[] = [];
  const errors: ToolError[] = [];
  for (const name of names) {
    try {
      found.push(...mustRead(readText(name, cwd), name));
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      errors.push(error);
    }
  }
  if (errors.length < 2) {
    if (errors[0]) throw errors[0];
    return found;
  }
  const next = errors.find((one) => one.next !== null)?.next ?? undefined;
  throw new ToolError(errors.map(({ message }) => message).join("\n"), { next });
}

/** Places the operations below the target's base path; advises when the path seems left out. */
async function placed(
  operations: Operation[],
  { target: given }: SourceOptions,
  { stderr }: SourceIo,
): Promise<Operation[]> {
  if (given === undefined || given === CLI_TARGET.url) return operations;
  const { baseAdvice, belowBase } = await import("./generate/documents.ts");
  const { base, url } = parseTarget(given);
  const advice = baseAdvice(operations, url, base);
  if (advice) stderr?.write(`${visibleLine(advice)}\n`);
  return belowBase(operations, base);
}

/** The path relative to the working directory, as code scanning and annotations expect it. */
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
  const { pagesOf } = await import("./generate/help/explore.ts");
  const { generateCliScenarios } = await import("./generate/generate.ts");
  const pages: CliPage[] = [];
  for (const given of fromHelp) pages.push(...await pagesOf(given, depth, io));
  return generateCliScenarios(pages, { depth, budget, first_id });
}

/** The text of a file, or of the document that the target serves. @throws ToolError */
async function readSpec(name: string, options: SourceOptions, cwd: string): Promise<string> {
  return /^https?:\/\//i.test(name) ? await fetchSpec(name, options) : readText(name, cwd);
}

const FETCH = { timeout_ms: 15_000, keep_bytes: 8 * 1024 * 1024 };

/** Fetches a document from the target. A run sends nothing to any other host. @throws ToolError */
async function fetchSpec(
  url: string,
  { target: given, header = {}, insecure, fill = (text) => text }: SourceOptions,
): Promise<string> {
  const { origin, pathname, search } = new URL(url);
  const target = given === undefined ? null : parseTarget(given);
  if (!target || new URL(target.url).origin !== origin) {
    throw new ToolError(`Cannot fetch "${url}": it is not on the target`, {
      next: "save the document and give the file, or name the same host as --target",
    });
  }
  const filled = Object.entries(header).map(([name, value]) => [name, fill(value)]);
  const request = {
    method: "GET",
    path: pathname + search,
    headers: Object.fromEntries(filled) as Record<string, string>,
  };
  const exchange = await sendRequest({ ...target, base: "" }, request, {
    ...FETCH,
    insecure: insecure === true,
  });
  if (exchange.error === null && exchange.status === 200) return exchange.body;
  const why = exchange.error ?? `it answered ${exchange.status}`;
  throw new ToolError(`Cannot fetch "${url}": ${why}`);
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

/** Without any source, the files in the working directory that have the usual names. */
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
