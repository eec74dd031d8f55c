import type { Database } from "../db/database.ts";
import type { Row, Statement } from "../db/ledger.ts";
import { RARE } from "../db/ledger_migrations.ts";
import type { ProofRecord } from "../proof/schema.ts";

/** One version of a config's text. The text is null when only its hash was kept. */
export interface Version {
  sha256: string;
  text: string | null;
}

/** A config text that a person accepted. */
export interface Accepted extends Version {
  path: string;
  /** One more than that of the acceptance before; 0 for one of an older release. */
  number: number;
  accepted_at: string;
  accepted_by: string;
  /** The signature over the path and the hash; null where no key was enrolled. */
  proof: ProofRecord | null;
  /** The accepted version that this one only tightens, when it has no proof of its own. */
  base: Omit<Accepted, "base"> | null;
}

/** The record of one config. */
export interface ConfigRow {
  /** "" for the machine. */
  project_id: string;
  accepted: Accepted | null;
  /** The version that the gate read last. */
  seen: Version | null;
  /** When the gate first read a version that differs from the accepted one. */
  changed_at: string | null;
  /** The hash of the machine's config that the project's ledger knows. */
  machine_sha256: string | null;
}

/** The record of a project's config, or of the machine's (""); null before the first. */
export async function findConfig(
  registry: Database,
  project_id: string,
): Promise<ConfigRow | null> {
  const rows = await registry.all("SELECT * FROM configs WHERE project_id = ?", [project_id]);
  return rows[0] ? toConfig(rows[0]) : null;
}

/** The records of all configs, by project. */
export async function listConfigs(registry: Database): Promise<ConfigRow[]> {
  return (await registry.all("SELECT * FROM configs ORDER BY project_id")).map(toConfig);
}

/** The data of a ledger's `policy.changed` events, oldest first; damaged data is empty. */
export async function listPolicyChanges(
  ledger: Pick<Database, "all">,
  project_id: string,
): Promise<Record<string, unknown>[]> {
  // As bytes: libSQL ends the process for a text that is not UTF-8.
  const rows = await ledger.all(
    `SELECT CAST(data AS BLOB) AS data FROM audit
      WHERE project_id = ? AND type = 'policy.changed' AND ${RARE.type} ORDER BY seq`,
    [project_id],
  );
  return rows.map(({ data }) => {
    const value = readJson(new TextDecoder().decode(data as Uint8Array));
    return typeof value === "object" && value !== null ? { ...value } : {};
  });
}

/** The text of the list with this hash; null when there is none. */
export async function findSeal(registry: Database, sha256: string): Promise<string | null> {
  const rows = await registry.all("SELECT list FROM config_seals WHERE sha256 = ?", [sha256]);
  return rows[0] ? String(rows[0].list) : null;
}

export function saveSeal(sha256: string, list: string): Statement {
  return {
    sql: "INSERT INTO config_seals (sha256, list) VALUES (?, ?) ON CONFLICT DO NOTHING",
    args: [sha256, list],
  };
}

export function saveConfig({ project_id, accepted, ...row }: ConfigRow): Statement {
  const { seen, changed_at, machine_sha256 } = row;
  return {
    sql:
      `INSERT INTO configs (project_id, path, sha256, text, number, accepted_at, accepted_by, proof,
        base, seen_sha256, seen_text, changed_at, machine_sha256)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (project_id) DO UPDATE SET path = excluded.path, sha256 = excluded.sha256,
        text = excluded.text, number = excluded.number, accepted_at = excluded.accepted_at,
        accepted_by = excluded.accepted_by, proof = excluded.proof, base = excluded.base,
        seen_sha256 = excluded.seen_sha256, seen_text = excluded.seen_text,
        changed_at = excluded.changed_at, machine_sha256 = excluded.machine_sha256`,
    args: [
      project_id,
      accepted?.path ?? null,
      accepted?.sha256 ?? null,
      accepted?.text ?? null,
      accepted?.number ?? 0,
      accepted?.accepted_at ?? null,
      accepted?.accepted_by ?? null,
      jsonOrNull(accepted?.proof),
      jsonOrNull(accepted?.base),
      seen?.sha256 ?? null,
      seen?.text ?? null,
      changed_at,
      machine_sha256,
    ],
  };
}

/** Every folder of every project. */
export async function listAllRoots(
  registry: Database,
): Promise<{ project_id: string; root: string }[]> {
  const rows = await registry.all("SELECT project_id, root FROM roots ORDER BY project_id, root");
  return rows.map(({ project_id, root }) => ({
    project_id: String(project_id),
    root: String(root),
  }));
}

/** The projects whose `overrideGlobal` a person trusts, with the proof of each. */
export async function listTrusts(
  registry: Database,
): Promise<{ project_id: string; proof: unknown }[]> {
  const rows = await registry.all("SELECT project_id, proof FROM override_trusts");
  return rows.map(({ project_id, proof }) => ({
    project_id: String(project_id),
    proof: readJson(proof),
  }));
}

export function saveTrust(
  project_id: string,
  { at, by, proof }: { at: string; by: string; proof: unknown },
): Statement {
  return {
    sql: `INSERT INTO override_trusts (project_id, trusted_at, trusted_by, proof)
      VALUES (?, ?, ?, ?) ON CONFLICT (project_id) DO UPDATE SET
        trusted_at = excluded.trusted_at, trusted_by = excluded.trusted_by, proof = excluded.proof`,
    args: [project_id, at, by, jsonOrNull(proof)],
  };
}

export function deleteTrust(project_id: string): Statement {
  return { sql: "DELETE FROM override_trusts WHERE project_id = ?", args: [project_id] };
}

function toConfig(row: Row): ConfigRow {
  const text = (name: string) => row[name] === null ? null : String(row[name]);
  const seen = text("seen_sha256");
  return {
    project_id: String(row.project_id),
    accepted: row.sha256 === null ? null : {
      path: String(row.path),
      sha256: String(row.sha256),
      text: text("text"),
      number: toNumber(row.number),
      accepted_at: String(row.accepted_at),
      accepted_by: String(row.accepted_by),
      proof: readJson(row.proof) as Accepted["proof"],
      base: readJson(row.base) as Accepted["base"],
    },
    seen: seen === null ? null : { sha256: seen, text: text("seen_text") },
    changed_at: text("changed_at"),
    machine_sha256: text("machine_sha256"),
  };
}

/** A number that no release writes counts as none. */
function toNumber(value: unknown): number {
  const number = Number(value);
  return Number.isSafeInteger(number) && number > 0 ? number : 0;
}

function jsonOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** A damaged text counts as none, so that nothing in it is believed. */
function readJson(value: unknown): unknown {
  try {
    return typeof value === "string" ? JSON.parse(value) : null;
  } catch {
    return null;
  }
}
