import { createReadStream, readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { AuditExport } from "../../server/audit/schema.ts";
import {
  CLOSE,
  EVENTS_OPEN,
  PROOF_OPEN,
  toBundleLine,
  toJsonLine,
} from "../../server/evidence/bundle.ts";
import { asEvent } from "../../server/evidence/chain.ts";
import { Proof } from "../../server/evidence/schema.ts";
import type { Evidence } from "../../server/evidence/verify.ts";
import { CliError, reasonOf } from "../errors.ts";

const PAGE = 500;

/** JSON that another program has formatted must be read at once, so its size is limited. */
const MOST_BYTES = 256 * 1024 * 1024;

const JSON_HEAD = /^(\{"checkpoint":.*),"events":\[$/;

const DAMAGED = "it is neither a bundle nor an export in JSON, or it is damaged";

/** Opens a bundle or a JSON export. @throws CliError when it is neither */
export async function openEvidence(path: string): Promise<Evidence> {
  const lines = readLines(path);
  const { value: first } = await lines.next();
  if (/^<!doctype html>/i.test(first ?? "")) return await openBundle(path, lines);
  const head = JSON_HEAD.exec(first ?? "")?.[1];
  if (head === undefined) {
    await lines.return(undefined);
    return readWhole(path);
  }
  const proof = parse(path, `${head}}`, Proof.pick({ checkpoint: true, checkpoints: true }));
  return { ...proof, pages: inPages(jsonEvents(lines)), toLine: toJsonLine };
}

async function openBundle(path: string, lines: AsyncGenerator<string>): Promise<Evidence> {
  for await (const line of { [Symbol.asyncIterator]: () => keepOpen(lines) }) {
    if (line === PROOF_OPEN) break;
  }
  const { value: text } = await lines.next();
  const proof = parse(path, text ?? "", Proof);
  const { value: end } = await lines.next();
  if (end !== CLOSE) throw strange(path, DAMAGED);
  return { ...proof, pages: inPages(bundleEvents(lines)), toLine: toBundleLine };
}

/** An iterator that stays open when a loop is left, so that another loop can continue. */
function keepOpen(lines: AsyncGenerator<string>): AsyncIterator<string> {
  return { next: () => lines.next() };
}

async function* bundleEvents(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let isInside = false;
  for await (const line of lines) {
    if (line === EVENTS_OPEN) isInside = true;
    else if (line === CLOSE) isInside = false;
    else if (isInside) yield line;
  }
}

async function* jsonEvents(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) {
    if (line === "]}") return;
    if (line !== "") yield line.endsWith(",") ? line.slice(0, -1) : line;
  }
}

async function* inPages(lines: AsyncIterable<string>): AsyncGenerator<string[]> {
  let page: string[] = [];
  for await (const line of lines) {
    page.push(line);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  yield page;
}

/** Reads an export that another program has formatted again. */
function readWhole(path: string): Evidence {
  const { size } = statSync(path);
  if (size > MOST_BYTES) {
    throw strange(path, "another program has formatted it, and it is too large for that");
  }
  const text = readFileSync(path, "utf8");
  const { events, ...proof } = parse(
    path,
    text,
    AuditExport.extend({ events: z.array(z.unknown()) }),
  );
  async function* lines() {
    for (const event of events) yield await Promise.resolve(toJsonLine(asEvent(event) ?? event));
  }
  return { ...proof, pages: inPages(lines()), toLine: toJsonLine };
}

interface Reader<T> {
  safeParse: (value: unknown) => { success: true; data: T } | { success: false };
}

function parse<T>(path: string, text: string, schema: Reader<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw strange(path, DAMAGED);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (
    typeof value === "object" && value !== null && "events" in value && !("checkpoint" in value)
  ) {
    throw strange(path, "an export of all projects contains no proof; export one project");
  }
  throw strange(path, DAMAGED);
}

function strange(path: string, why: string): CliError {
  return new CliError(`Cannot check "${path}": ${why}`, {
    next: "gate audit export --bundle FILE --project <id>",
  });
}

/** The gate never writes a longer line. */
const LONGEST = 16 * 1024 * 1024;

/** The lines of a file of any size, in bounded memory. @throws CliError */
async function* readLines(path: string): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of readChunks(path)) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
    if (rest.length > LONGEST) {
      throw new CliError(`Cannot read "${path}": it has a line longer than the gate ever writes`);
    }
  }
  if (rest !== "") yield rest;
}

async function* readChunks(path: string): AsyncGenerator<string> {
  try {
    yield* createReadStream(path, { encoding: "utf8" });
  } catch (cause) {
    throw strange(path, reasonOf(cause));
  }
}
