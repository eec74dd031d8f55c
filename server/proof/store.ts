import type { Database } from "../db/database.ts";
import type { Ledger, Row, Statement, Value } from "../db/ledger.ts";
import { RARE } from "../db/ledger_migrations.ts";
import { canonical } from "../evidence/canonical.ts";
import type { ProofChange } from "./schema.ts";

/** The changes of the proof as gate.db has them, oldest first; a damaged row is null. */
export async function listChanges(registry: Database): Promise<unknown[]> {
  const rows = await registry.all("SELECT data FROM proof_changes ORDER BY number");
  return rows.map(({ data }) => parseJson(data));
}

/** Replaces everything that gate.db knows of the proof, in one commit. */
export async function replaceChanges(
  registry: Database,
  changes: readonly ProofChange[],
  counter: { key_id: string; counter: number } | null,
): Promise<void> {
  await registry.batch([
    { sql: "DELETE FROM proof_changes", args: [] },
    ...changes.map((change): Statement => ({
      sql: "INSERT INTO proof_changes (number, data) VALUES (?, ?)",
      args: [change.number, canonical(change)],
    })),
    ...counter ? [setCounter(counter)] : [],
  ]);
}

/** The kind of proof of a home that never enrolled a key. */
export async function findStart(registry: Database): Promise<"none" | "token"> {
  const rows = await registry.all("SELECT kind FROM proof_start");
  return rows[0]?.kind === "token" ? "token" : "none";
}

/** Records that the reviewer's token decides, until a key is enrolled. */
export async function insertTokenStart(registry: Database): Promise<void> {
  await registry.batch([{
    sql: "INSERT INTO proof_start (one, kind) VALUES (1, 'token') ON CONFLICT DO NOTHING",
    args: [],
  }]);
}

/** The signature counter of a passkey. */
export async function findCounter(registry: Database, key_id: string): Promise<number> {
  const rows = await registry.all("SELECT counter FROM proof_counters WHERE key_id = ?", [key_id]);
  return Number(rows[0]?.counter ?? 0);
}

export async function updateCounter(
  registry: Database,
  counter: { key_id: string; counter: number },
): Promise<void> {
  await registry.batch([setCounter(counter)]);
}

function setCounter({ key_id, counter }: { key_id: string; counter: number }): Statement {
  return {
    sql: `INSERT INTO proof_counters (key_id, counter) VALUES (?, ?)
      ON CONFLICT DO UPDATE SET counter = max(counter, excluded.counter)`,
    args: [key_id, counter],
  };
}

/** The data of a ledger's `proof.changed` events, oldest first; damaged data is null. */
export async function listLedgerChanges(
  ledger: { all(sql: string, args: Value[]): Promise<Row[]> },
  project_id: string,
): Promise<unknown[]> {
  // As bytes: libSQL ends the process for a text that is not UTF-8.
  const rows = await ledger.all(
    `SELECT CAST(data AS BLOB) AS data FROM audit
      WHERE project_id = ? AND type = 'proof.changed' AND ${RARE.type} ORDER BY seq`,
    [project_id],
  );
  return rows.map(({ data }) => parseJson(new TextDecoder().decode(data as Uint8Array)));
}

/** The event of the change with this number in a ledger; null if the ledger has none. */
export async function findChange(
  ledger: Ledger,
  number: number,
): Promise<{ seq: number; at: string } | null> {
  const [row] = await ledger.all(
    `SELECT seq, at FROM audit WHERE project_id = ? AND type = 'proof.changed'
        AND ${RARE.type} AND json_extract(data, '$.number') = ? ORDER BY seq LIMIT 1`,
    [ledger.project_id, number],
  );
  return row ? { seq: Number(row.seq), at: String(row.at) } : null;
}

/** Writes the mark of the newest change into the ledger's header. */
export function setMark(mark: number): Statement {
  return { sql: `PRAGMA user_version = ${Math.trunc(mark)}`, args: [] };
}

/** The place of a proof's event: what lies between it and the event that the proof names. */
export interface PlaceOfProof {
  /** The latest time of the events after the named one, up to the own one. */
  latest: string;
  /** An event between them holds the same nonce. */
  is_used: boolean;
}

/** Null if none of `most` events before `seq` has the hash. A null hash names the event before. */
export async function findPlace(
  ledger: Ledger,
  { hash, nonce }: { hash: string | null; nonce: string },
  { seq, most }: { seq: number; most: number },
): Promise<PlaceOfProof | null> {
  const { project_id } = ledger;
  const named = hash === null ? { sql: "SELECT ? AS seq", args: [seq - 1] } : {
    sql: `SELECT seq FROM audit WHERE project_id = ? AND seq < ? AND seq >= ? AND hash = ?
        ORDER BY seq DESC LIMIT 1`,
    args: [project_id, seq, seq - most, hash],
  };
  const [row] = await ledger.all(
    `WITH named AS MATERIALIZED (${named.sql})
      SELECT (SELECT max(at) FROM audit WHERE project_id = ? AND seq <= ?
          AND seq > (SELECT seq FROM named)) AS latest,
        EXISTS (SELECT 1 FROM audit WHERE project_id = ? AND seq < ?
          AND seq > (SELECT seq FROM named)
          AND instr(CAST(data AS BLOB), CAST(? AS BLOB)) > 0) AS is_used`,
    [...named.args, project_id, seq, project_id, seq, nonce],
  );
  if (row === undefined || row.latest === null) return null;
  return { latest: String(row.latest), is_used: row.is_used === 1 };
}

function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
}
