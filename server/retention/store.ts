import type { Ledger, Row, Statement } from "../db/ledger.ts";

/** The number of the first event at this time or later; null if there is none. */
export async function firstEventSince(ledger: Ledger, at: string): Promise<number | null> {
  const [row] = await ledger.all(
    `SELECT seq FROM audit_index WHERE project_id = ? AND name = 'at' AND value >= ?
      ORDER BY value, seq LIMIT 1`,
    [ledger.project_id, at],
  );
  return row ? Number(row.seq) : null;
}

/** The ids of the actions that these events are about. */
export async function listActionsOf(
  ledger: Ledger,
  { first, last }: { first: number; last: number },
): Promise<string[]> {
  const rows = await ledger.all(
    `SELECT DISTINCT CAST(action_id AS BLOB) AS id FROM audit
      WHERE project_id = ? AND seq BETWEEN ? AND ? AND action_id IS NOT NULL`,
    [ledger.project_id, first, last],
  );
  return rows.map(({ id }) => textOf(id as Uint8Array));
}

/** The texts of an action that name contents, and the earlier action that it rolls back or replays. */
export interface Named {
  seq: number;
  texts: string;
  earlier: string | null;
}

// As bytes: libSQL ends the process for a text that is not UTF-8.
const NAMED = `SELECT seq, CAST(coalesce(before_sha256, '') || ' ' || coalesce(after_sha256, '') ||
    ' ' || coalesce(output_sha256, '') || ' ' || coalesce(input, '') || ' ' ||
    coalesce(proposed, '') AS BLOB) AS texts,
  CAST(coalesce(rollback_of, replay_of) AS BLOB) AS earlier FROM actions`;

export async function listNamed(ledger: Ledger, ids: readonly string[]): Promise<Named[]> {
  const rows = await ledger.all(
    `${NAMED} WHERE project_id = ? AND id IN (SELECT value FROM json_each(?))`,
    [ledger.project_id, JSON.stringify(ids)],
  );
  return rows.map(toNamed);
}

/** At most `limit` actions after `seq` that wait or run. */
export async function listUnsettled(ledger: Ledger, seq: number, limit: number): Promise<Named[]> {
  const rows = await ledger.all(
    `${NAMED} INDEXED BY actions_unfinished
      WHERE project_id = ? AND seq > ? AND (status = 'pending' OR execution = 'running')
      ORDER BY seq LIMIT ?`,
    [ledger.project_id, seq, limit],
  );
  return rows.map(toNamed);
}

/** At most `limit` actions after `seq` that are approved and not started. */
export async function listUnstarted(ledger: Ledger, seq: number, limit: number): Promise<Named[]> {
  const rows = await ledger.all(
    `${NAMED} INDEXED BY actions_unstarted
      WHERE project_id = ? AND seq > ? AND status = 'approved' AND execution = 'none'
      ORDER BY seq LIMIT ?`,
    [ledger.project_id, seq, limit],
  );
  return rows.map(toNamed);
}

function toNamed({ seq, texts, earlier }: Row): Named {
  return {
    seq: Number(seq),
    texts: textOf(texts as Uint8Array),
    earlier: earlier === null ? null : textOf(earlier as Uint8Array),
  };
}

const LATIN1 = new TextDecoder("latin1");

/** Hashes and ids are ASCII, and no byte is invalid. */
function textOf(bytes: Uint8Array): string {
  return LATIN1.decode(bytes);
}

/** A content that the ledger holds, or whose chunks are left after it was dropped. */
export interface HeldContent {
  number: number;
  sha256: string;
  /** As stored. */
  bytes: number;
  is_chunked: boolean;
  is_dropped: boolean;
}

/** At most `limit` contents after `number` that were inserted before this time. */
export async function listContents(
  ledger: Ledger,
  { number, until, limit }: { number: number; until: string; limit: number },
): Promise<HeldContent[]> {
  const rows = await ledger.all(
    `SELECT rowid AS number, sha256, dropped_at IS NOT NULL AS is_dropped,
      data IS NULL AND chunks > 0 AS is_chunked, coalesce(octet_length(data),
        (SELECT sum(octet_length(data)) FROM blob_chunks
          WHERE project_id = blobs.project_id AND sha256 = blobs.sha256), 0) AS bytes
      FROM blobs WHERE rowid > ? AND project_id = ? AND created_at < ?
        AND (dropped_at IS NULL OR chunks > 0) ORDER BY rowid LIMIT ?`,
    [number, ledger.project_id, until, limit],
  );
  return rows.map(({ number, sha256, bytes, is_chunked, is_dropped }) => ({
    number: Number(number),
    sha256: String(sha256),
    bytes: Number(bytes),
    is_chunked: is_chunked === 1,
    is_dropped: is_dropped === 1,
  }));
}

/** Marks contents as dropped and deletes those that are in one row. */
export function dropContents(
  project_id: string,
  hashes: readonly string[],
  at: string,
): Statement {
  return {
    sql: `UPDATE blobs SET dropped_at = ?, data = NULL, encoding = NULL
      WHERE project_id = ? AND sha256 IN (SELECT value FROM json_each(?)) AND dropped_at IS NULL`,
    args: [at, project_id, JSON.stringify(hashes)],
  };
}

/** Deletes at most `limit` chunks of a dropped content; returns a row for each. */
export function deleteChunks(project_id: string, sha256: string, limit: number): Statement {
  return {
    sql:
      `DELETE FROM blob_chunks WHERE rowid IN (SELECT blob_chunks.rowid FROM blobs JOIN blob_chunks
        ON blob_chunks.project_id = blobs.project_id AND blob_chunks.sha256 = blobs.sha256
        WHERE blobs.project_id = ? AND blobs.sha256 = ? AND blobs.dropped_at IS NOT NULL LIMIT ?)
      RETURNING number`,
    args: [project_id, sha256, limit],
  };
}

/** Notes that a dropped content has no chunks any more. */
export function noteEmptied(project_id: string, sha256: string): Statement {
  return {
    sql: `UPDATE blobs SET chunks = 0
      WHERE project_id = ? AND sha256 = ? AND dropped_at IS NOT NULL`,
    args: [project_id, sha256],
  };
}
