import { createHash } from "node:crypto";
import { CHUNK_BYTES, keepBlob, putBlob, readBlob, sizeOfBlob } from "../db/blobs.ts";
import { sha256 } from "../db/chain.ts";
import type { Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { readPieces } from "../runtime/file_image.ts";
import type { Content } from "./draft.ts";
import { type ActionServices, timestamp } from "./services.ts";
import { inTurns } from "./turns.ts";

/** A content of a single piece is committed along with what refers to it. */
const SMALL = CHUNK_BYTES;
/** More statements than this would hold everybody else up. */
const MANY = 60;
/** A larger text is not shown in one piece. */
const MAX_SHOWN = 1024 * 1024;

/**
 * What keeps these contents, to be committed with whatever refers to them. Large and many ones are
 * committed ahead, piece by piece, so that no commit holds everybody else up; a content alone harms nobody.
 * @throws GateError `conflict` where a large file is no longer what was looked at
 */
export async function keepContents(
  services: ActionServices,
  contents: readonly Content[],
): Promise<Statement[]> {
  const { ledger, project_id, environment } = services;
  const at = timestamp(environment);
  const kept: Statement[] = [];
  for await (const { sha256, content } of inTurns(contents)) {
    if (!(content instanceof Uint8Array)) {
      const { path, bytes } = content;
      const hashes = await hashesOf(path, sha256);
      await keepBlob(ledger, { sha256, bytes }, at, () => verified(path, hashes));
    } else if (content.length <= SMALL) {
      kept.push(...(await putBlob(content, { project_id, at })).statements);
      if (kept.length > MANY) await ledger.commit({ statements: kept.splice(0), events: [] });
    } else {
      const bytes = content.length;
      await keepBlob(ledger, { sha256, bytes }, at, () => piecesOf(content));
    }
  }
  return kept;
}

function* piecesOf(content: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    yield content.subarray(at, at + CHUNK_BYTES);
  }
}

/** The hash of each piece, so that nothing false is ever kept under the hash of the whole. */
async function hashesOf(path: string, expected: string): Promise<string[]> {
  const whole = createHash("sha256");
  const hashes: string[] = [];
  for await (const piece of readPieces(path, CHUNK_BYTES)) {
    whole.update(piece);
    hashes.push(sha256(piece));
  }
  if (whole.digest("hex") !== expected) throw changing(path);
  return hashes;
}

async function* verified(path: string, hashes: readonly string[]): AsyncGenerator<Uint8Array> {
  let number = 0;
  for await (const piece of readPieces(path, CHUNK_BYTES)) {
    if (sha256(piece) !== hashes[number++]) throw changing(path);
    yield piece;
  }
  if (number !== hashes.length) throw changing(path);
}

function changing(path: string): GateError {
  return new GateError(
    "conflict",
    `Cannot keep "${path}": it is being changed just now; try again`,
  );
}

/** A kept content as text; null where it is not kept, not text or too large to show. */
export async function shownText(
  services: ActionServices,
  sha256: string | null,
): Promise<string | null> {
  const { ledger } = services;
  if (sha256 === null || (await sizeOfBlob(ledger, sha256) ?? Infinity) > MAX_SHOWN) return null;
  const content = await readBlob(ledger, sha256);
  return content && textOf(content);
}

/** Bytes as text; null where they are none. */
export function textOf(content: Uint8Array): string | null {
  if (content.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}
