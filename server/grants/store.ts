import type { Ledger, Row, Statement, Value } from "../db/ledger.ts";
import { RARE } from "../db/ledger_migrations.ts";
import { jsonText } from "../db/texts.ts";
import type { Grant, GrantQuery } from "./schema.ts";

/** A grant with its internal fields. */
export interface GrantRow extends Grant {
  seq: number;
  /** The scripts of the approved command. The grant holds only for the same contents. */
  scripts: { path: string; sha256: string }[];
}

/** A new grant, before the insert assigns its number. */
export type NewGrant = Omit<
  GrantRow,
  "seq" | "uses" | "last_used_at" | "revoked_at" | "revoked_by" | "state"
>;

const COLUMNS =
  `id, seq, project_id, scope, session_id, action_id, digest, pattern, access, tool, path,
  command, questions, scripts, given_by, created_at, expires_at, max_uses, uses, last_used_at,
  revoked_at, revoked_by`;

const HAS_ENDED = `(scope = 'session' AND EXISTS (SELECT 1 FROM sessions
  WHERE sessions.project_id = grants.project_id AND sessions.id = grants.session_id
    AND sessions.ended_at IS NOT NULL))`;

/** Takes one argument: now. */
const STATE = `CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN uses >= max_uses THEN 'used_up'
  WHEN expires_at <= ? OR ${HAS_ENDED} THEN 'expired' ELSE 'live' END`;

const USABLE = `revoked_at IS NULL AND uses < max_uses AND expires_at > ? AND NOT ${HAS_ENDED}`;

/** The most grants that are compared with one action; `MOST_LIVE` is lower. */
const MOST_CANDIDATES = 1_000;

/** Inserts a grant with the next number, if `only` finds a row. */
export function insertGrant(grant: NewGrant, only: Statement): Statement {
  const fields = Object.entries({
    ...grant,
    questions: jsonText(grant.questions),
    scripts: jsonText(grant.scripts),
  });
  return {
    sql: `INSERT INTO grants (${fields.map(([name]) => name).join(", ")}, seq)
      SELECT ${fields.map(() => "?").join(", ")},
        (SELECT coalesce(max(seq), 0) + 1 FROM grants WHERE project_id = ?)
      WHERE EXISTS (${only.sql})`,
    args: [...fields.map(([, value]) => value), grant.project_id, ...only.args],
  };
}

/** Takes one use, if the grant is usable and its count is still the one that was read. */
export function takeUse(
  { project_id, id, uses }: GrantRow,
  { use_id, now }: { use_id: string; now: string },
): { take: Statement; only: Statement } {
  return {
    take: {
      sql: `UPDATE grants SET uses = uses + 1, use_id = ?, last_used_at = ?
        WHERE project_id = ? AND id = ? AND uses = ? AND ${USABLE}`,
      args: [use_id, now, project_id, id, uses, now],
    },
    only: {
      sql: "EXISTS (SELECT 1 FROM grants WHERE project_id = ? AND id = ? AND use_id = ?)",
      args: [project_id, id, use_id],
    },
  };
}

/** Revokes a grant. It may be used up: an action that it allowed may not have started. */
export function revokeGrant(
  { project_id, id }: Pick<Grant, "project_id" | "id">,
  { revoke_id, by, now }: { revoke_id: string; by: string; now: string },
): { update: Statement; when: Statement } {
  return {
    update: {
      sql: `UPDATE grants SET revoked_at = ?, revoked_by = ?, revoke_id = ?
        WHERE project_id = ? AND id = ? AND revoked_at IS NULL AND expires_at > ?`,
      args: [now, by, revoke_id, project_id, id, now],
    },
    when: {
      sql: "SELECT 1 FROM grants WHERE project_id = ? AND id = ? AND revoke_id = ?",
      args: [project_id, id, revoke_id],
    },
  };
}

export async function findGrant(ledger: Ledger, id: string, now: string): Promise<GrantRow | null> {
  const [row] = await ledger.all(
    `SELECT ${COLUMNS}, ${STATE} AS state FROM grants WHERE project_id = ? AND id = ?`,
    [now, ledger.project_id, id],
  );
  return row ? toGrantRow(row) : null;
}

/** The usable grants for an action of this session. Grants for its digest come first. */
export async function listUsable(
  ledger: Ledger,
  of: { session_id: string | null; digest: string | null; now: string },
): Promise<GrantRow[]> {
  const rows = await ledger.all(
    `SELECT ${COLUMNS}, 'live' AS state FROM grants INDEXED BY grants_usable
      WHERE project_id = ? AND ${USABLE} AND (scope = 'project' OR session_id = ?)
        AND (digest = ? OR pattern IS NOT NULL)
      ORDER BY pattern IS NOT NULL, expires_at, seq LIMIT ${MOST_CANDIDATES}`,
    [ledger.project_id, of.now, of.session_id, of.digest],
  );
  return rows.map(toGrantRow);
}

/** How many uses of a grant the log has. */
export async function countUses(ledger: Ledger, id: string): Promise<number> {
  const [row] = await ledger.all(
    `SELECT count(*) AS n FROM audit WHERE project_id = ? AND type = 'grant.used' AND ${RARE.type}
      AND json_extract(data, '$.grant_id') = ?`,
    [ledger.project_id, id],
  );
  return Number(row?.n ?? 0);
}

export async function countUsable(ledger: Ledger, now: string): Promise<number> {
  const [row] = await ledger.all(
    `SELECT count(*) AS n FROM grants WHERE project_id = ? AND ${USABLE}`,
    [ledger.project_id, now],
  );
  return Number(row?.n ?? 0);
}

const FILTERS = ["scope", "session_id", "action_id", "given_by"] as const;

/** Grants below the cursor, newest first. */
export async function listGrants(
  ledger: Ledger,
  query: GrantQuery,
  page: { before: number; limit: number; now: string },
): Promise<GrantRow[]> {
  const filters = FILTERS.filter((name) => query[name] !== undefined);
  const conditions = filters.map((name) => ` AND ${name} = ?`).join("");
  const args: Value[] = [page.now, ledger.project_id, page.before];
  const rows = await ledger.all(
    `SELECT * FROM (SELECT ${COLUMNS}, ${STATE} AS state FROM grants
      WHERE project_id = ? AND seq < ?${conditions})
      ${query.state === undefined ? "" : "WHERE state = ?"} ORDER BY seq DESC LIMIT ?`,
    [
      ...args,
      ...filters.map((name) => query[name] ?? null),
      ...query.state === undefined ? [] : [query.state],
      page.limit,
    ],
  );
  return rows.map(toGrantRow);
}

/** The public record. */
export function publicGrant({ seq: _seq, scripts: _scripts, ...grant }: GrantRow): Grant {
  return grant;
}

function toGrantRow(row: Row): GrantRow {
  const { questions, scripts } = row;
  return {
    ...row,
    questions: JSON.parse(String(questions)),
    scripts: JSON.parse(String(scripts)),
  } as unknown as GrantRow;
}
