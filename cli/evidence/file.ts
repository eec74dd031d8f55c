import { readFileSync, statSync } from "node:fs";
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
import { CliError } from "../errors.ts";
import { readLines } from "./lines.ts";

const PAGE = 500;

/** JSON in another form than ours has to be read at once. */
const MOST_BYTES = 256 * 1024 * 1024;

const JSON_HEAD = /^(\{"checkpoint":.*),"events":\[$/;

/** A bundle or an export in JSON, to be checked. @throws CliError when it is neither */
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
  return { ...proof, pages: inPages(bundleEvents(lines)), toLine: toBundleLine };
}

/** Leaving a loop over it does not end it: what follows is read by another one. */
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

/** An export that another program has written anew: the same values, in another form. */
function readWhole(path: string): Evidence {
  const { size } = statSync(path);
  if (size > MOST_BYTES) throw strange(path, "it is not as gate wrote it, and too large");
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
    throw strange(path, "it is neither a bundle nor an export in JSON, or it is damaged");
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (
    typeof value === "object" && value !== null && "events" in value && !("checkpoint" in value)
  ) {
    throw strange(path, "an export of all projects proves nothing of any one of them");
  }
  throw strange(path, "it is neither a bundle nor an export in JSON, or it is damaged");
}

function strange(path: string, why: string): CliError {
  return new CliError(`Cannot check "${path}": ${why}`, {
    next: "gate audit export --bundle FILE --project <id>",
  });
}
