import { stat } from "node:fs/promises";
import { join } from "node:path";
import { listNames } from "../files.ts";
import { type Agent, type FoundSession } from "./agent.ts";

/** A record that was written this recently is one of an agent that works. */
const ACTIVE_MS = 120_000;

/** Cursor's agent writes no counts and no state: its record only tells when it was written. */
export const CURSOR: Agent = {
  id: "cursor",
  name: "Cursor",
  programs: ["cursor-agent"],
  side_commands: ["mcp", "login", "logout", "status", "update"],
  marks: { flag: "CURSOR_AGENT", session: [], pid: [] },
  no_limits: "Cursor keeps them on its servers; gate sends nothing",
  async find(around) {
    const found = await Promise.all(around.own.map(async (owner): Promise<FoundSession[]> => {
      if (owner.cwd === null) return [];
      const slug = owner.cwd.replace(/^\//, "").replaceAll(/[^A-Za-z0-9]/g, "-");
      const folder = join(around.home, ".cursor", "projects", slug, "agent-transcripts");
      const newest = await newestIn(folder);
      if (newest === null || newest.at < (owner.started_at ?? 0)) return [];
      return [{
        session_id: newest.id,
        owner,
        cwd: owner.cwd,
        started_at: owner.started_at,
        version: null,
        status: null,
        record: null,
        facts: {
          last_at: newest.at,
          status: around.now - newest.at <= ACTIVE_MS ? "working" : "idle",
        },
      }];
    }));
    return found.flat();
  },
};

async function newestIn(folder: string): Promise<{ id: string; at: number } | null> {
  const ids = await listNames(folder);
  const times = await Promise.all(
    ids.slice(-200).map(async (id) => ({
      id,
      at: await stat(join(folder, id, `${id}.jsonl`)).then(({ mtimeMs }) => mtimeMs, () => 0),
    })),
  );
  return times.filter(({ at }) => at > 0).toSorted((a, b) => b.at - a.at)[0] ?? null;
}
