import { createHash } from "node:crypto";
import {
  CHUNK_BYTES,
  HASH,
  keepBlob,
  lastDrop,
  putBlob,
  readBlob,
  sizeOfBlob,
} from "../db/blobs.ts";
import { sha256 } from "../db/chain.ts";
import type { Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { readPieces } from "../runtime/file_image.ts";
import { type ActionServices, timestamp } from "./context.ts";
import { inTurns } from "./scheduling.ts";
import type { ActionRow } from "./store.ts";

/** A content with its hash. A large file is named by its path and read in pieces. */
export interface Content {
  sha256: string;
  content: Uint8Array | { path: string; bytes: number };
}

/** A larger content is never held in memory whole. */
export const MAX_IN_MEMORY = 8 * 1024 * 1024;
/** Contents of all files of one host call together, which are read into memory. */
export const MAX_CALL_BYTES = 128 * 1024 * 1024;
/** A content of a single chunk is committed along with its action. */
const SMALL = CHUNK_BYTES;
/** Commits in batches of this many statements so that other writers are not blocked. */
const BATCH = 60;
/** A larger text is not shown. */
const MAX_SHOWN = 1024 * 1024;

/**
 * Returns the statements that keep these contents, for the commit of their action. Large contents
 * are committed at once, chunk by chunk, so that no commit blocks other writers.
 * @throws GateError `conflict` if a large file has changed since its hash was computed
 */
export async function keepContents(
  services: ActionServices,
  contents: readonly Content[],
): Promise<Statement[]> {
  const { ledger, project_id, environment } = services;
  const at = timestamp(environment);
  const kept: Statement[] = [];
  await services.contents.use(contents);
  const unknown = contents.filter(({ sha256 }) => !services.contents.has(sha256));
  for await (const { sha256, content } of inTurns(unknown)) {
    if (!(content instanceof Uint8Array)) {
      const { path, bytes } = content;
      const hashes = await hashesOf(path, sha256);
      await keepBlob(ledger, { sha256, bytes }, at, () => verified(path, hashes));
    } else if (content.length <= SMALL) {
      kept.push(...(await putBlob(content, { project_id, at })).statements);
      if (kept.length > BATCH) await ledger.commit({ statements: kept.splice(0), events: [] });
    } else {
      const bytes = content.length;
      await keepBlob(ledger, { sha256, bytes }, at, () => chunksOf(content));
    }
  }
  return kept;
}

function* chunksOf(content: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    yield content.subarray(at, at + CHUNK_BYTES);
  }
}

/** The hash of each chunk, after the hash of the whole file was verified. */
async function hashesOf(path: string, expected: string): Promise<string[]> {
  const whole = createHash("sha256");
  const hashes: string[] = [];
  for await (const chunk of readPieces(path, CHUNK_BYTES)) {
    whole.update(chunk);
    hashes.push(sha256(chunk));
  }
  if (whole.digest("hex") !== expected) throw changing(path);
  return hashes;
}

/** Reads the file again and compares each chunk: the file may change between the two reads. */
async function* verified(path: string, hashes: readonly string[]): AsyncGenerator<Uint8Array> {
  let number = 0;
  for await (const chunk of readPieces(path, CHUNK_BYTES)) {
    if (sha256(chunk) !== hashes[number++]) throw changing(path);
    yield chunk;
  }
  if (number !== hashes.length) throw changing(path);
}

function changing(path: string): GateError {
  return new GateError("conflict", `Cannot keep "${path}": it is changing right now; try again`);
}

/** When a content that the action names was dropped because of its age; null if none was. */
export async function droppedAt(
  { ledger }: Pick<ActionServices, "ledger">,
  { plan, proposed, output_sha256 }: Pick<ActionRow, "plan" | "proposed" | "output_sha256">,
): Promise<string | null> {
  const named = JSON.stringify([plan, proposed, output_sha256]).match(HASH) ?? [];
  return await lastDrop(ledger, [...new Set(named)]);
}

/** A kept content as text; null if it is not kept, not text or too large to show. */
export async function shownText(
  { ledger }: Pick<ActionServices, "ledger">,
  sha256: string | null,
): Promise<string | null> {
  if (sha256 === null || (await sizeOfBlob(ledger, sha256) ?? Infinity) > MAX_SHOWN) return null;
  const content = await readBlob(ledger, sha256);
  return content && textOf(content);
}

/** The bytes as text; null if they are no UTF-8 text. */
export function textOf(content: Uint8Array): string | null {
  if (content.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}
