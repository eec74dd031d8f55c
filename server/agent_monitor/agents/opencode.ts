import { stat } from "node:fs/promises";
import { join } from "node:path";
import {
  type Agent,
  type AgentProcess,
  countOf,
  type FoundSession,
  objectOf,
  type RecordFacts,
  textOf,
  timeOf,
} from "./agent.ts";
import { listOpencodeSessions, type OpencodeRow } from "./opencode_store.ts";

/** opencode keeps its sessions in a database: a process and the newest one of its folder are one. */
export const OPENCODE: Agent = {
  id: "opencode",
  name: "opencode",
  programs: ["opencode"],
  side_commands: ["mcp", "auth", "models", "upgrade", "stats", "export", "import", "agent"],
  marks: { flag: "OPENCODE", session: [], pid: ["OPENCODE_PID"] },
  no_limits: "opencode writes none to its database",
  async find(around) {
    if (around.own.length === 0) return [];
    const data = around.env.XDG_DATA_HOME || join(around.home, ".local", "share");
    const rows = await sessionsIn(join(data, "opencode", "opencode.db"), around.now);
    const taken = new Set<OpencodeRow>();
    return around.own.flatMap((owner) => {
      const row = rows.find((one) => isOf(one, owner) && !taken.has(one));
      if (!row) return [];
      taken.add(row);
      return [toSession(row, owner)];
    });
  },
};

/** A terminal may stay open for some days. */
const KEPT_MS = 8 * 24 * 60 * 60 * 1000;

/** What was read last, so that an unchanged database is not read again. */
const known = { state: "", rows: [] as OpencodeRow[] };

async function sessionsIn(path: string, now: number): Promise<OpencodeRow[]> {
  const found = await Promise.all([path, `${path}-wal`].map((one) => stat(one).catch(() => null)));
  if (!found[0]?.isFile()) return [];
  const state = found.map((one) => `${one?.ino} ${one?.size} ${one?.mtimeMs}`).join(" ") + path;
  if (state === known.state) return known.rows;
  try {
    known.rows = listOpencodeSessions(path, now - KEPT_MS);
    known.state = state;
  } catch {
    // It is locked at this moment, or of a release with other tables.
    known.state = "";
  }
  return known.rows;
}

function isOf({ session }: OpencodeRow, { cwd, started_at }: AgentProcess): boolean {
  if (cwd === null || session.directory !== cwd) return false;
  return Number(session.time_updated) >= (started_at ?? 0) - 1_000;
}

function toSession(row: OpencodeRow, owner: AgentProcess): FoundSession {
  const { session } = row;
  return {
    session_id: String(session.id).slice(0, 256),
    owner,
    cwd: textOf(session.directory, 4096),
    started_at: timeOf(Number(session.time_created)),
    version: textOf(session.version, 64),
    status: null,
    record: null,
    facts: factsOf(row),
  };
}

function factsOf({ session, answer, requests }: OpencodeRow): Partial<RecordFacts> {
  const counts = {
    input: countOf(session.tokens_input),
    output: countOf(session.tokens_output) + countOf(session.tokens_reasoning),
    cache_read: countOf(session.tokens_cache_read),
    cache_write: countOf(session.tokens_cache_write),
  };
  const total = counts.input + counts.output + counts.cache_read + counts.cache_write;
  const last = parsed(answer);
  const { completed } = objectOf(last.time);
  const { input, cache } = objectOf(last.tokens);
  const used = countOf(input) + countOf(objectOf(cache).read) + countOf(objectOf(cache).write);
  return {
    last_at: timeOf(Number(session.time_updated)),
    model: textOf(last.modelID) ?? textOf(parsed(textOf(session.model, 4096)).id),
    status: answer === null || completed !== undefined ? "idle" : "working",
    tokens: { ...counts, total },
    context: used > 0 ? { used, window: null } : null,
    // Without prices opencode writes 0.
    cost_usd: Number(session.cost) > 0 ? Number(session.cost) : null,
    turns: requests,
  };
}

function parsed(text: string | null): Record<string, unknown> {
  try {
    return objectOf(JSON.parse(text ?? "{}"));
  } catch {
    return {};
  }
}
