import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { visibleLine } from "../terminal/visible.ts";
import { mustRead } from "./document.ts";
import { GIVE_A_FILE, LOOK_AT_TARGET, ToolError } from "./errors.ts";
import { type HttpExchange, sendRequest } from "./execute/http.ts";
import { Pulse } from "./execute/pulse.ts";
import { reachTarget } from "./execute/reach.ts";
import { CLI_TARGET, parseTarget, type Target } from "./execute/target.ts";
import type { Depth } from "./generate/family.ts";
import type { CliPage, ProgramOptions } from "./generate/help/explore.ts";
import type { Operation } from "./generate/operation.ts";
import type { Try } from "./generate/tries.ts";
import { textOf } from "./place.ts";
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
  /** Wait this many milliseconds for a target that is still starting. */
  waitForTarget?: number;
  /** Fills secrets into the headers of that request. */
  fill?: (text: string) => string;
  /** The logins of the run. */
  as?: ReadonlyMap<string, unknown>;
  /** The tries that run only on request. */
  try?: readonly Try[];
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
  const given = await withDefaults(options, io);
  const { scenarios, spec } = given;
  const found = (await eachOf(scenarios, (name) => mustRead(readText(name, cwd), name))).flat();
  if (spec.length > 0) {
    const { operationsOf } = await import("./generate/documents.ts");
    const { generateScenarios } = await import("./generate/generate.ts");
    const texts = given.documents ?? new Map<string, string>();
    const read = (await eachOf(spec, async (name) => {
      const text = texts.get(name) ?? await readSpec(name, options, cwd);
      return operationsOf(text, shownName(name, cwd));
    })).flat();
    const there = await placed(read, options, io);
    const operations = options.learn ? await options.learn(there) : there;
    const { depth = "normal", budget } = options;
    const identities = [...(options.as?.keys() ?? [])];
    const first_id = nextId(found);
    found.push(...generateScenarios(operations, {
      depth,
      budget,
      first_id,
      identities,
      tries: options.try,
    }));
  }
  if (options.fromHelp?.length) found.push(...await fromHelp(options, io, nextId(found)));
  const seen = new Set<string>();
  for (const { scenario_id } of found) {
    if (seen.has(scenario_id)) {
      throw new ToolError(`Cannot join the sources: ${scenario_id} is in two of them`, {
        next: "give each scenario an id of its own",
      });
    }
    seen.add(scenario_id);
  }
  return found;
}

/** The answers of `read`, by name. @throws ToolError that tells of every bad file, not of the first */
async function eachOf<T>(names: string[], read: (name: string) => T | Promise<T>): Promise<T[]> {
  const found: T[] = [];
  const errors: ToolError[] = [];
  for (const name of names) {
    try {
      found.push(await read(name));
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      errors.push(error);
    }
  }
  if (errors.length === 0) return found;
  if (errors.length === 1) throw errors[0];
  const [{ next }] = errors as [ToolError];
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

const GIVE_A_URL = "save the document and give the file, or the URL at which the target serves it";
const FETCH = { timeout_ms: 15_000, keep_bytes: 8 * 1024 * 1024 };

/** Fetches a document from the target. A run sends nothing to any other host. @throws ToolError */
async function fetchSpec(url: string, options: SourceOptions): Promise<string> {
  if (!URL.canParse(url)) {
    throw new ToolError(`Cannot fetch "${url}": it is not a URL`, { next: GIVE_A_URL });
  }
  const { origin, pathname, search } = new URL(url);
  const target = options.target === undefined ? null : parseTarget(options.target);
  if (!target || new URL(target.url).origin !== origin) {
    throw new ToolError(`Cannot fetch "${url}": it is not on the target`, {
      next: "save the document and give the file, or name the same host as --target",
    });
  }
  const { error, status, body } = await get(target, pathname + search, options);
  if (error === null && status === 200) return body;
  throw new ToolError(`Cannot fetch "${url}": ${error ?? `it answered ${status}`}`, {
    next: GIVE_A_URL,
  });
}

/** Sends one GET with the headers of the run. `path` begins at the root of the host. */
async function get(
  target: Target,
  path: string,
  { header = {}, insecure, fill = (text) => text }: SourceOptions,
): Promise<HttpExchange> {
  const filled = Object.entries(header).map(([name, value]) => [name, fill(value)]);
  const headers = Object.fromEntries(filled) as Record<string, string>;
  return await sendRequest({ ...target, base: "" }, { method: "GET", path, headers }, {
    ...FETCH,
    insecure: insecure === true,
  });
}

/** The addresses at which frameworks serve their document. */
const ADDRESSES = [
  "/openapi.json",
  "/openapi.yaml",
  "/openapi.yml",
  "/swagger.json",
  "/swagger.yaml",
  "/v3/api-docs",
  "/v2/api-docs",
  "/api/openapi.json",
  "/api/v1/openapi.json",
  "/api/swagger.json",
  "/api-docs",
  "/api-docs.json",
  "/api-docs/swagger.json",
  "/api/docs.json",
  "/docs/openapi.json",
  "/docs/json",
  "/swagger/v1/swagger.json",
  "/swagger/doc.json",
  "/static/openapi.json",
  "/openapi/v1.json",
  "/openapi",
  "/q/openapi",
  "/api/schema/?format=json",
  "/.well-known/openapi.json",
];

/** The first document that the target serves at a usual address. @throws ToolError without one */
async function findSpec(
  options: SourceOptions,
  stderr: SourceIo["stderr"],
): Promise<{ name: string; text: string }> {
  const target = parseTarget(options.target!);
  const { operationsOf } = await import("./generate/documents.ts");
  const { waitForTarget: wait_ms = 0, insecure = false } = options;
  await reachTarget(target, { wait_ms, insecure });
  const pulse = new Pulse({ target, timeout_ms: FETCH.timeout_ms, insecure });
  const { origin } = new URL(target.url);
  const bases = [...new Set([target.base.replace(/\/$/, ""), ""])];
  for (const path of bases.flatMap((base) => ADDRESSES.map((one) => base + one))) {
    const { status, body, error } = await get(target, path, options);
    if (status === null && !await pulse.answers()) {
      const why = `it gives no HTTP answer (GET ${path}: ${error})`;
      throw new ToolError(`Cannot test ${target.url}: ${why}`, {
        next: LOOK_AT_TARGET,
      });
    }
    if (status !== 200 || !isDocument(body, origin + path, operationsOf)) continue;
    stderr?.write(`Generating from ${visibleLine(origin + path)}, which the target serves\n`);
    return { name: origin + path, text: body };
  }
  const nowhere = `there is no scenarios.json or openapi.json here, and the target serves no ` +
    `OpenAPI document at ${ADDRESSES.slice(0, 4).join(", ")} or ${ADDRESSES.length - 4} other ` +
    "usual addresses";
  throw new ToolError(`Cannot find anything to test: ${nowhere}`, {
    next: "--spec <file>, --spec <URL on the target> or --scenarios <file>",
  });
}

function isDocument(
  text: string,
  name: string,
  operationsOf: (text: string, name: string) => Operation[],
): boolean {
  if (!/openapi|swagger/i.test(text.slice(0, 4_000))) return false;
  try {
    return operationsOf(text, name).length > 0;
  } catch (error) {
    if (error instanceof ToolError) return false;
    throw error;
  }
}

/** The text of a file, relative to the working directory. @throws ToolError */
export function readText(name: string, cwd: string): string {
  try {
    return textOf(readFileSync(resolve(cwd, name)));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT"
      ? "there is no such file"
      : code === "EISDIR"
      ? "it is a folder"
      : message;
    throw new ToolError(`Cannot read "${name}": ${why}`, { next: GIVE_A_FILE, cause });
  }
}

/**
 * Without any source, the files in the working directory that have the usual names, or the document
 * that the target serves at a usual address.
 */
async function withDefaults(
  options: SourceOptions,
  { cwd, stderr }: SourceIo,
): Promise<{ scenarios: string[]; spec: string[]; documents?: Map<string, string> }> {
  const { scenarios, spec = [], fromHelp = [], target } = options;
  if (scenarios.length + spec.length + fromHelp.length > 0) return { scenarios, spec };
  const here = (name: string) => existsSync(resolve(cwd, name));
  if (here("scenarios.json")) return { scenarios: ["scenarios.json"], spec };
  const found = ["openapi.json", "openapi.yaml", "openapi.yml"].find(here);
  if (found) return { scenarios, spec: [found] };
  if (target === undefined || target === CLI_TARGET.url) return { scenarios, spec };
  const { name, text } = await findSpec(options, stderr);
  return { scenarios, spec: [name], documents: new Map([[name, text]]) };
}

function nextId(scenarios: Scenario[]): number {
  const numbers = scenarios.map(({ scenario_id }) => Number(scenario_id.slice(3)));
  return numbers.reduce((most, number) => Math.max(most, number), 0) + 1;
}
