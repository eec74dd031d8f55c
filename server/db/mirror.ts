import { hostname } from "node:os";
import { join } from "node:path";
import type { AuditEvent, AuditType } from "../evidence/schema.ts";
import type { Database, LedgerDatabase } from "./database.ts";
import { openChecked } from "./health.ts";
import type { Machine, Row, Statement, Value } from "./ledger.ts";
import { ownEvents } from "./machines.ts";
import { LEDGER_MIGRATIONS, RARE } from "./ledger_migrations.ts";
import { markCopy, type Placement, readMark } from "./placement.ts";

/** The events that say which keys and which configs count. */
const MIRRORED: readonly AuditType[] = ["policy.changed", "proof.changed"];

const IS_MIRRORED = `${RARE.type} AND type IN (${MIRRORED.map((type) => `'${type}'`).join(", ")})`;

/** The keys are those of all machines, the accepted configs those of this one. */
function mirroredOf(machine: Machine): { sql: string; args: Value[] } {
  const own = ownEvents(machine);
  return { sql: `${IS_MIRRORED} AND (type = 'proof.changed' OR (true${own.sql}))`, args: own.args };
}

/**
 * The file that a ledger left when it moved to a server. It still gets the events that a start reads
 * before any ledger is open, so a server that does not answer brings no older key or config back.
 */
export class Mirror {
  readonly #file: Database;
  readonly #server: LedgerDatabase;
  readonly #project_id: string;
  readonly #machine: Machine;

  private constructor(
    file: Database,
    server: LedgerDatabase,
    { project_id, machine }: { project_id: string; machine: Machine },
  ) {
    this.#file = file;
    this.#server = server;
    this.#project_id = project_id;
    this.#machine = machine;
  }

  /** Opens the file and brings it up to date with the server. */
  static async open(
    folder: string,
    server: LedgerDatabase,
    { project_id, machine, placement, now }: {
      project_id: string;
      machine: Machine;
      placement: Placement;
      now: () => number;
    },
  ): Promise<Mirror> {
    const path = join(folder, "ledger.db");
    const { database: file } = await openChecked(path, { migrations: LEDGER_MIGRATIONS, now });
    const mirror = new Mirror(file, server, { project_id, machine });
    try {
      if (await readMark(file) === null) {
        const { copy_id, moved_at: at } = placement;
        await file.batch(markCopy({ project_id, copy_id, host: hostname(), state: "left", at }));
      }
      await mirror.#catchUp();
      return mirror;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Receives the events of a commit. */
  async note(events: readonly AuditEvent[]): Promise<void> {
    if (events.some(({ type }) => MIRRORED.includes(type))) await this.#catchUp();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #catchUp(): Promise<void> {
    const newest = `SELECT coalesce(max(seq), 0) AS seq FROM audit
      WHERE project_id = ? AND ${IS_MIRRORED}`;
    const [known] = await this.#file.all(newest, [this.#project_id]);
    const mirrored = mirroredOf(this.#machine);
    const rows = await this.#server.all(
      `SELECT ${COLUMNS} FROM audit WHERE project_id = ? AND seq > ? AND ${mirrored.sql} ORDER BY seq`,
      [this.#project_id, known!.seq!, ...mirrored.args],
    );
    if (rows.length === 0) return;
    const [header] = await this.#server.all("PRAGMA user_version");
    // In the header, a start finds the newest change of the proof without opening the file.
    const mark = { sql: `PRAGMA user_version = ${Number(header!.user_version)}`, args: [] };
    await this.#file.batch([...rows.map(insertRow), mark]);
  }
}

const NAMES = [
  ...["project_id", "seq", "at", "session_id", "action_id", "type", "actor", "data"],
  ...["prev_hash", "hash"],
];
const COLUMNS = NAMES.join(", ");

function insertRow(row: Row): Statement {
  return {
    sql: `INSERT INTO audit (${COLUMNS}) VALUES (${NAMES.map(() => "?").join(", ")})
      ON CONFLICT DO NOTHING`,
    args: NAMES.map((name) => row[name]!),
  };
}
