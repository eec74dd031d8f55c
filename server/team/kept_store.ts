import type { Database } from "../db/database.ts";
import type { Ledger, Statement } from "../db/ledger.ts";
import { ownEvents } from "../db/machines.ts";
import { RARE } from "../db/ledger_migrations.ts";
import type { AuditType } from "../evidence/schema.ts";
import { ProofRecord } from "../proof/schema.ts";

/** The accepted state of a list, as gate.db has it. */
export interface AcceptedList {
  /** Counts the changes. */
  number: number;
  items: unknown;
  /** The proof of the person who accepted it; null where none was asked. */
  proof: ProofRecord | null;
}

/** One change of a list, as every ledger records it. */
export interface ListChange {
  number: number;
  type: AuditType;
  by: string;
  data: Record<string, unknown>;
}

/** The accepted state of a list; null before the first change, and for a damaged row. */
export async function findAccepted(
  registry: Database,
  name: string,
): Promise<AcceptedList | null> {
  const [row] = await registry.all(
    "SELECT number, items, proof FROM kept_lists WHERE name = ?",
    [name],
  );
  if (!row) return null;
  try {
    const proof = row.proof === null ? null : ProofRecord.parse(JSON.parse(String(row.proof)));
    return { number: Number(row.number), items: JSON.parse(String(row.items)), proof };
  } catch {
    return { number: Number(row.number), items: null, proof: null };
  }
}

/** Replaces the accepted state and keeps the changes that led to it, in one commit. */
export async function saveAccepted(
  registry: Database,
  name: string,
  { number, items, proof }: AcceptedList,
  changes: readonly ListChange[],
): Promise<void> {
  await registry.batch([
    {
      sql: `INSERT INTO kept_lists (name, number, items, proof) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET number = excluded.number, items = excluded.items,
          proof = excluded.proof`,
      args: [name, number, JSON.stringify(items), proof && JSON.stringify(proof)],
    },
    ...changes.map((change): Statement => ({
      sql: `INSERT INTO kept_changes (name, number, type, by, data) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET type = excluded.type, by = excluded.by, data = excluded.data`,
      args: [name, change.number, change.type, change.by, JSON.stringify(change.data)],
    })),
  ]);
}

/** The newest `most` changes after this number, oldest first. */
export async function listChangesAfter(
  registry: Database,
  name: string,
  { number, most }: { number: number; most: number },
): Promise<ListChange[]> {
  const rows = await registry.all(
    `SELECT number, type, by, data FROM kept_changes WHERE name = ? AND number > ?
      ORDER BY number DESC LIMIT ?`,
    [name, number, most],
  );
  return rows.toReversed().map((row) => ({
    number: Number(row.number),
    type: String(row.type) as AuditType,
    by: String(row.by),
    data: JSON.parse(String(row.data)),
  }));
}

/** The number of the newest change that a ledger has recorded of this machine; 0 for none. */
export async function newestChange(ledger: Ledger, types: readonly AuditType[]): Promise<number> {
  const marks = types.map(() => "?").join(", ");
  const own = ownEvents(ledger.machine);
  const [row] = await ledger.all(
    `SELECT json_extract(data, '$.number') AS number FROM audit
      WHERE project_id = ? AND type IN (${marks}) AND ${RARE.type}${own.sql} ORDER BY seq DESC LIMIT 1`,
    [ledger.project_id, ...types, ...own.args],
  );
  const number = Number(row?.number ?? 0);
  return Number.isSafeInteger(number) ? number : 0;
}
