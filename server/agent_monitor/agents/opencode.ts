import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Row } from "../../db/ledger.ts";
import {
  type Agent,
  type AgentProcess,
  countOf,
  type FoundSession,
  type OpenCall,
  type RecordFacts,
  textOf,
  timeOf,
} from "./agent.ts";
import { OpencodeReader, type OpencodeRow } from "./opencode_store.ts";

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
    const rows = await sessionsIn(join(data, "opencode", "opencode.db"), around.own, around.now);
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

/** The database that was read last, with its state then. */
let last: { path: string; state: string; reader: OpencodeReader; rows: OpencodeRow[] } | null =
  null;

async function sessionsIn(
  path: string,
  own: readonly AgentProcess[],
  now: number,
): Promise<OpencodeRow[]> {
  const found = await Promise.all([path, `${path}-wal`].map((one) => lstat(one).catch(() => null)));
  if (!found[0]?.isFile()) return [];
  const folders = new Set(own.flatMap(({ cwd }) => cwd ?? []));
  const state = JSON.stringify([
    ...found.map((one) => `${one?.ino} ${one?.size} ${one?.mtimeMs}`),
    ...folders,
  ]);
  if (last?.path !== path) last = { path, state: "", reader: new OpencodeReader(path), rows: [] };
  if (state === last.state) return last.rows;
  const current = last;
  try {
    current.rows = await current.reader.read(folders, now - KEPT_MS);
    const isWhole = current.rows.every(({ requests }) => requests !== null);
    current.state = isWhole ? state : "";
  } catch {
    // It is locked at this moment, or of a release with other tables.
    current.state = "";
  }
  return current.rows;
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

function factsOf(row: OpencodeRow): Partial<RecordFacts> {
  const { session, answer, requests, is_unanswered, open_call, subagents } = row;
  const counts = {
    input: countOf(session.tokens_input),
    output: countOf(session.tokens_output) + countOf(session.tokens_reasoning),
    cache_read: countOf(session.tokens_cache_read),
    cache_write: countOf(session.tokens_cache_write),
  };
  const total = counts.input + counts.output + counts.cache_read + counts.cache_write;
  const isIdle = !is_unanswered && (answer === null || answer.completed !== null);
  const used = countOf(answer?.input) + countOf(answer?.cache_read) + countOf(answer?.cache_write);
  return {
    last_at: timeOf(Number(session.time_updated)),
    model: textOf(answer?.model) ?? textOf(session.model_id),
    status: isIdle ? "idle" : "working",
    tokens: { ...counts, total },
    context: used > 0 ? { used, window: null } : null,
    // Without prices opencode writes 0.
    cost_usd: Number(session.cost) > 0 ? Number(session.cost) : null,
    turns: requests,
    current_task: textOf(open_call?.tool, 128),
    open_call: isIdle || is_unanswered || open_call === null ? null : callOf(open_call),
    subagents: subagents.map(({ id, agent, time_updated }) => ({
      id: String(id).slice(0, 256),
      type: textOf(agent),
      last_at: timeOf(Number(time_updated)),
    })),
  };
}

/** Tools that change a file at once, so that an open call of one waits for the person. */
const QUICK_TOOLS = new Set(["edit", "write", "patch", "apply_patch", "multiedit"]);

function callOf({ tool, command, time_updated }: Row): OpenCall | null {
  const at = timeOf(Number(time_updated));
  if (tool === "question") return { command: null, at, waits: "waiting_input", is_certain: true };
  if (tool === "bash" || QUICK_TOOLS.has(String(tool))) {
    return { command: textOf(command, 4096), at, waits: "waiting_approval", is_certain: false };
  }
  return null;
}
