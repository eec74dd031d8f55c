import type { Database } from "../db/database.ts";
import type { Row, Statement } from "../db/ledger.ts";
import type { EndedSession } from "./schema.ts";

/** A child process of a session that listens, as it is remembered after the session has ended. */
export interface TrackedPort {
  pid: number;
  start_time: string;
  boot_id: string;
  ports: number[];
  agent: string;
  session_id: string;
  project_id: string | null;
  first_seen_at: string;
}

/** Keeps an ended session; a session that was resumed and ended again replaces its row. */
export function insertEnded(session: EndedSession): Statement {
  return {
    sql: `INSERT INTO agent_history (agent, session_id, ended_at, session) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET ended_at = excluded.ended_at, session = excluded.session`,
    args: [session.agent, session.session_id, session.ended_at, JSON.stringify(session)],
  };
}

/** Deletes all but the newest rows. */
export function pruneEnded(keep: number): Statement {
  return {
    sql: `DELETE FROM agent_history WHERE ended_at <
      (SELECT ended_at FROM agent_history ORDER BY ended_at DESC LIMIT 1 OFFSET ?)`,
    args: [keep],
  };
}

/** The sessions that ended, the newest first. */
export async function listEnded(
  registry: Database,
  { limit, agent }: { limit: number; agent?: string },
): Promise<EndedSession[]> {
  const rows = agent === undefined
    ? await registry.all("SELECT session FROM agent_history ORDER BY ended_at DESC LIMIT ?", [
      limit,
    ])
    : await registry.all(
      "SELECT session FROM agent_history WHERE agent = ? ORDER BY ended_at DESC LIMIT ?",
      [agent, limit],
    );
  return rows.map(({ session }) => JSON.parse(String(session)));
}

export function putTracked(row: TrackedPort): Statement {
  const { pid, start_time, boot_id, agent, session_id, project_id, first_seen_at } = row;
  const ports = JSON.stringify(row.ports);
  return {
    sql: `INSERT INTO agent_ports
        (pid, start_time, boot_id, ports, agent, session_id, project_id, first_seen_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET ports = excluded.ports, agent = excluded.agent,
        session_id = excluded.session_id, project_id = excluded.project_id`,
    args: [pid, start_time, boot_id, ports, agent, session_id, project_id, first_seen_at],
  };
}

export function removeTracked({ pid, start_time }: TrackedPort): Statement {
  return {
    sql: "DELETE FROM agent_ports WHERE pid = ? AND start_time = ?",
    args: [pid, start_time],
  };
}

/** The remembered processes of this start of the machine. */
export async function listTracked(registry: Database, boot_id: string): Promise<TrackedPort[]> {
  const rows = await registry.all("SELECT * FROM agent_ports WHERE boot_id = ?", [boot_id]);
  return rows.map(toTracked);
}

function toTracked(row: Row): TrackedPort {
  return {
    pid: Number(row.pid),
    start_time: String(row.start_time),
    boot_id: String(row.boot_id),
    ports: JSON.parse(String(row.ports)),
    agent: String(row.agent),
    session_id: String(row.session_id),
    project_id: row.project_id === null ? null : String(row.project_id),
    first_seen_at: String(row.first_seen_at),
  };
}
