import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import { GateError } from "../errors.ts";
import { sha256 } from "./chain.ts";
import { deflateSmall } from "../runtime/deflate.ts";
import { releaseMemory } from "../runtime/memory.ts";
import type { Ledger, Row, Statement } from "./ledger.ts";

/** The most that one row holds, so that a large file can be read in pieces. */
export const CHUNK_BYTES = 1024 * 1024;
/** Every hash of a content in a text. */
export const HASH = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

/** Memory is freed after this many chunks. */
const RELEASE_EACH = 16;

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** A content and the statements that insert it, for the batch that refers to it. */
export interface BlobPut {
  sha256: string;
  bytes: number;
  statements: Statement[];
}

/** Prepares the statements that insert a content under its hash; inserting it again does nothing. */
export async function putBlob(
  content: Uint8Array,
  place: { project_id: string; at: string },
): Promise<BlobPut> {
  const hash = sha256(content);
  const bytes = content.byteLength;
  const chunks = Math.ceil(bytes / CHUNK_BYTES);
  if (chunks <= 1) return { sha256: hash, bytes, statements: [await whole(hash, content, place)] };
  const statements = [header({ sha256: hash, bytes, chunks }, place)];
  for (let number = 0; number < chunks; number++) {
    const chunk = content.subarray(number * CHUNK_BYTES, (number + 1) * CHUNK_BYTES);
    statements.push(await chunkOf(hash, number, chunk, place.project_id));
  }
  return { sha256: hash, bytes, statements };
}

/**
 * Inserts a large content with one commit for each chunk, so that it neither fills the memory nor
 * blocks other writers. `pieces` returns its bytes in order, each of `CHUNK_BYTES` except the last; it
 * is not called when the content is already in the ledger.
 */
export async function keepBlob(
  ledger: Ledger,
  { sha256, bytes }: { sha256: string; bytes: number },
  at: string,
  pieces: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const place = { project_id: ledger.project_id, at };
  const chunks = Math.ceil(bytes / CHUNK_BYTES);
  const found = await findBlob(ledger, sha256);
  if (found?.is_whole || found && await countChunks(ledger, sha256) === chunks) return;
  await ledger.commit({ statements: [header({ sha256, bytes, chunks }, place)], events: [] });
  let number = 0;
  for await (const piece of pieces()) {
    const statement = await chunkOf(sha256, number++, piece, place.project_id);
    await ledger.commit({ statements: [statement], events: [] });
    if (number % RELEASE_EACH === 0) releaseMemory();
  }
}

/** The size of a content; null when the ledger does not have it. */
export async function sizeOfBlob(ledger: Ledger, hash: string): Promise<number | null> {
  return (await findBlob(ledger, hash))?.bytes ?? null;
}

/** When the last of these contents was dropped; null if none is. */
export async function lastDrop(
  ledger: Ledger,
  hashes: readonly string[],
): Promise<string | null> {
  if (hashes.length === 0) return null;
  const [row] = await ledger.all(
    `SELECT max(dropped_at) AS at FROM blobs
      WHERE project_id = ? AND sha256 IN (SELECT value FROM json_each(?))`,
    [ledger.project_id, JSON.stringify(hashes)],
  );
  return row?.at == null ? null : String(row.at);
}

/**
 * A whole content, checked against its hash; null when the ledger does not have it.
 * @throws GateError `unavailable` when it is damaged
 */
export async function readBlob(ledger: Ledger, hash: string): Promise<Uint8Array | null> {
  const found = await findBlob(ledger, hash);
  if (!found) return null;
  const content = new Uint8Array(found.bytes);
  let offset = 0;
  for await (const chunk of readChunks(ledger, hash, found)) {
    if (offset + chunk.byteLength > found.bytes) throw damaged(ledger, hash);
    content.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return content;
}

/**
 * A content in chunks, checked against its hash before the last one; null when the ledger does not
 * have it. The iteration throws GateError `unavailable` for damaged content.
 */
export async function streamBlob(
  ledger: Ledger,
  hash: string,
): Promise<AsyncIterable<Uint8Array> | null> {
  const found = await findBlob(ledger, hash);
  return found && readChunks(ledger, hash, found);
}

async function* readChunks(
  ledger: Ledger,
  hash: string,
  { chunks, is_whole }: Found,
): AsyncGenerator<Uint8Array> {
  const digest = createHash("sha256");
  if (is_whole) {
    const content = await unpack(ledger, hash, await rowOf(ledger, hash));
    if (digest.update(content).digest("hex") !== hash) throw damaged(ledger, hash);
    return yield content;
  }
  let held: Uint8Array | null = null;
  for (let number = 0; number < chunks; number++) {
    if (held) yield held;
    held = await readChunk(ledger, hash, number);
    digest.update(held);
    if (number % RELEASE_EACH === RELEASE_EACH - 1) releaseMemory();
  }
  if (digest.digest("hex") !== hash) throw damaged(ledger, hash);
  if (held) yield held;
}

async function readChunk(ledger: Ledger, hash: string, number: number): Promise<Uint8Array> {
  const rows = await ledger.all(
    "SELECT encoding, data FROM blob_chunks WHERE project_id = ? AND sha256 = ? AND number = ?",
    [ledger.project_id, hash, number],
  );
  return await unpack(ledger, hash, rows[0]);
}

async function rowOf(ledger: Ledger, hash: string): Promise<Row | undefined> {
  const rows = await ledger.all(
    "SELECT encoding, data FROM blobs WHERE project_id = ? AND sha256 = ?",
    [ledger.project_id, hash],
  );
  return rows[0];
}

async function unpack(ledger: Ledger, hash: string, row: Row | undefined): Promise<Uint8Array> {
  const data = row?.data;
  if (!(data instanceof Uint8Array)) throw damaged(ledger, hash);
  if (row?.encoding === "plain") return data;
  try {
    // Bounded, so that a damaged row cannot fill the memory.
    return await inflate(data, { maxOutputLength: CHUNK_BYTES });
  } catch (cause) {
    throw damaged(ledger, hash, cause);
  }
}

interface Found {
  bytes: number;
  chunks: number;
  /** The content is in this row, not in chunks. */
  is_whole: boolean;
}

async function findBlob(ledger: Ledger, hash: string): Promise<Found | null> {
  const [row] = await ledger.all(
    `SELECT bytes, chunks, data IS NOT NULL AS is_whole FROM blobs
      WHERE project_id = ? AND sha256 = ? AND dropped_at IS NULL`,
    [ledger.project_id, hash],
  );
  if (!row) return null;
  const { bytes, chunks, is_whole } = row;
  return { bytes: Number(bytes), chunks: Number(chunks), is_whole: is_whole === 1 };
}

async function countChunks(ledger: Ledger, hash: string): Promise<number> {
  const rows = await ledger.all(
    "SELECT count(*) AS n FROM blob_chunks WHERE project_id = ? AND sha256 = ?",
    [ledger.project_id, hash],
  );
  return Number(rows[0]?.n ?? 0);
}

function header(
  { sha256, bytes, chunks }: { sha256: string; bytes: number; chunks: number },
  { project_id, at }: { project_id: string; at: string },
): Statement {
  return {
    sql: `INSERT INTO blobs (project_id, sha256, bytes, chunks, created_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (project_id, sha256) DO UPDATE
      SET chunks = excluded.chunks, created_at = excluded.created_at, dropped_at = NULL
      WHERE dropped_at IS NOT NULL`,
    args: [project_id, sha256, bytes, chunks, at],
  };
}

/**
 * A content of at most one chunk, in one row. A crash may have left its row without its chunk, and it
 * may have been dropped.
 */
async function whole(
  hash: string,
  content: Uint8Array,
  { project_id, at }: { project_id: string; at: string },
): Promise<Statement> {
  const { encoding, data } = await pack(content);
  return {
    sql: `INSERT INTO blobs (project_id, sha256, bytes, chunks, created_at, encoding, data)
      VALUES (?, ?, ?, 0, ?, ?, ?) ON CONFLICT (project_id, sha256) DO UPDATE
      SET chunks = 0, encoding = excluded.encoding, data = excluded.data,
        created_at = excluded.created_at, dropped_at = NULL
      WHERE data IS NULL AND (dropped_at IS NOT NULL OR chunks > (SELECT count(*) FROM blob_chunks
        WHERE project_id = excluded.project_id AND sha256 = excluded.sha256))`,
    args: [project_id, hash, content.byteLength, at, encoding, data],
  };
}

async function chunkOf(
  hash: string,
  number: number,
  chunk: Uint8Array,
  project_id: string,
): Promise<Statement> {
  const { encoding, data } = await pack(chunk);
  return {
    sql: `INSERT INTO blob_chunks (project_id, sha256, number, encoding, data)
      VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    args: [project_id, hash, number, encoding, data],
  };
}

async function pack(chunk: Uint8Array): Promise<{ encoding: string; data: Uint8Array }> {
  if (!await isCompressible(chunk)) return { encoding: "plain", data: chunk };
  // Small chunks synchronously: handing them to a thread takes longer than compressing them.
  const deflated = chunk.byteLength <= SMALL
    ? deflateSmall(chunk, LEVEL)
    : await deflate(chunk, { level: LEVEL });
  return deflated.byteLength < chunk.byteLength
    ? { encoding: "deflate", data: deflated }
    : { encoding: "plain", data: chunk };
}

const PROBE_BYTES = 16 * 1024;
const SMALL = 64 * 1024;
const LEVEL = 3;

/** Tries the beginning of a large chunk, because media and archives do not compress again. */
async function isCompressible(chunk: Uint8Array): Promise<boolean> {
  if (chunk.byteLength <= SMALL) return true;
  const probe = await deflate(chunk.subarray(0, PROBE_BYTES), { level: LEVEL });
  return probe.byteLength < 0.95 * PROBE_BYTES;
}

function damaged(ledger: Ledger, hash: string, cause?: unknown): GateError {
  const message = `Cannot read the content ${hash} of "${ledger.project_id}": the ledger's copy ` +
    "is damaged";
  return new GateError("unavailable", message, { cause, next: "gate audit verify" });
}
