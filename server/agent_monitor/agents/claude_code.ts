import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { listNames, readJson, readNames } from "../files.ts";
import type { AgentStatus } from "../schema.ts";
import {
  type Agent,
  type Around,
  countOf,
  type FoundSession,
  keyOf,
  listOf,
  NO_FACTS,
  noteTime,
  objectOf,
  OpenCalls,
  type RecordFacts,
  type RecordReader,
  type Subagent,
  textOf,
  timeOf,
  TokenSum,
} from "./agent.ts";

/** Claude Code keeps a file for each of its processes, which names the session and its state. */
export const CLAUDE_CODE: Agent = {
  id: "claude-code",
  name: "Claude Code",
  programs: ["claude"],
  side_commands: ["mcp", "config", "update", "doctor", "install", "migrate-installer", "plugin"],
  marks: { flag: "CLAUDECODE", session: ["CLAUDE_CODE_SESSION_ID"], pid: ["CLAUDE_PID"] },
  no_limits: "Claude Code tells them only to a status line; add gate's: " +
    "gate global-setup --statusline",
  async find(around) {
    const root = around.env.CLAUDE_CONFIG_DIR || join(around.home, ".claude");
    const folder = join(root, "sessions");
    const names = await listNames(folder);
    const found = await Promise.all(
      names.filter((name) => /^\d+\.json$/.test(name)).slice(0, MOST_FILES)
        .map((name) => sessionIn(join(folder, name), root, around)),
    );
    return await withSubagents(found.flat());
  },
};

const MOST_FILES = 1_000;

const Registered = z.looseObject({
  pid: z.number().int(),
  sessionId: z.string().min(1).max(256),
  cwd: z.string().max(4096),
  startedAt: z.number().optional(),
  procStart: z.string().optional(),
  pidDomain: z.string().optional(),
  version: z.string().max(64).optional(),
  status: z.string().optional(),
  waitingFor: z.string().optional(),
});
type Registered = z.infer<typeof Registered>;

async function sessionIn(path: string, root: string, around: Around): Promise<FoundSession[]> {
  const { success, data } = Registered.safeParse(await readJson(path));
  if (!success || !isHere(data, around)) return [];
  const running = around.running.get(data.pid);
  if (!running || !isSame(data, running.start_time)) return [];
  const slug = data.cwd.replaceAll(/[^A-Za-z0-9]/g, "-");
  // The id becomes a part of paths.
  if (!isName(data.sessionId)) return [];
  return [{
    session_id: data.sessionId,
    owner: running,
    cwd: data.cwd,
    started_at: timeOf(data.startedAt),
    version: data.version ?? null,
    status: statusOf(data),
    record: {
      path: join(root, "projects", slug, `${data.sessionId}.jsonl`),
      read: () => new ClaudeReader(),
    },
    // It removes the file when it ends in order.
    hasExited: async () => await readJson(path) === null,
  }];
}

const SUBAGENT = /^agent-(.+)\.jsonl$/;
const MOST_SUBAGENTS = 100;

/** Sessions with their subagents. The sessions of one project have their folders in one folder. */
async function withSubagents(sessions: readonly FoundSession[]): Promise<FoundSession[]> {
  const folders = new Set(sessions.map(({ record }) => dirname(record!.path)));
  const names = new Map(
    await Promise.all([...folders].map(async (one) => [one, await readNames(one)] as const)),
  );
  return await Promise.all(sessions.map(async (session) => {
    const { session_id, record } = session;
    const folder = dirname(record!.path);
    const subagents = names.get(folder)!.has(session_id)
      ? await subagentsIn(join(folder, session_id, "subagents"))
      : [];
    return { ...session, facts: { subagents } };
  }));
}

/** Each subagent has a record of its own, and a note of its kind. */
async function subagentsIn(folder: string): Promise<Subagent[]> {
  const names = (await listNames(folder)).filter((name) => SUBAGENT.test(name));
  return await Promise.all(
    names.slice(-MOST_SUBAGENTS).map(async (name) => {
      const path = join(folder, name);
      const id = SUBAGENT.exec(name)![1]!.slice(0, 128);
      const last_at = await lstat(path).then(({ mtimeMs }) => mtimeMs, () => null);
      const { agentType } = objectOf(await readJson(path.replace(/jsonl$/, "meta.json")));
      return { id, type: textOf(agentType, 128), last_at };
    }),
  );
}

function isName(id: string): boolean {
  return !/[/\\\0]/.test(id) && id !== "." && id !== "..";
}

/** A container writes the process ids of its own namespace. */
function isHere({ pidDomain }: Registered, { machine }: Around): boolean {
  const namespace = /:pid:(\[\d+\])$/.exec(pidDomain ?? "")?.[1];
  return namespace === undefined || machine.pid_namespace === null ||
    namespace === machine.pid_namespace;
}

/** A later process may have the pid of one that was killed. */
function isSame({ procStart }: Registered, start_time: string): boolean {
  return procStart === undefined || !/^\d+$/.test(procStart) ||
    start_time.split(":").at(-1) === procStart;
}

function statusOf({ status, waitingFor }: Registered): AgentStatus | null {
  if (status === "idle") return "idle";
  if (status === "busy") return "working";
  if (status !== "waiting") return null;
  return waitingFor === "permission prompt" ? "waiting_approval" : "waiting_input";
}

const RATE_LIMITED = /limit reached|rate.?limit/i;
const SKIPPED = /^\{"type":"(?:api-request|file-history-snapshot|attachment)/;

/** Reads a transcript. One answer has several lines, each with the same counts. */
export class ClaudeReader implements RecordReader {
  readonly #facts: RecordFacts = { ...NO_FACTS };
  readonly #tokens = new TokenSum();
  readonly #calls = new OpenCalls<string>();

  skips(beginning: string): boolean {
    return SKIPPED.test(beginning);
  }

  add(line: Record<string, unknown>): void {
    const facts = this.#facts;
    noteTime(facts, line.timestamp);
    facts.cwd = textOf(line.cwd, 4096) ?? facts.cwd;
    facts.branch = textOf(line.gitBranch) ?? facts.branch;
    facts.version = textOf(line.version) ?? facts.version;
    if (line.type === "user") this.#user(line);
    else if (line.type === "assistant") this.#assistant(line);
    else if (line.type === "system" && line.subtype === "turn_duration") this.#idle();
    else if (line.type === "cost-state") this.#cost(line);
  }

  facts(): RecordFacts {
    const current_task = this.#calls.newest();
    return { ...this.#facts, tokens: this.#tokens.total(), current_task };
  }

  #user(line: Record<string, unknown>): void {
    if (line.isSidechain === true) return;
    const { content } = objectOf(line.message);
    for (const part of listOf(content).map(objectOf)) {
      if (part.type === "tool_result") this.#calls.end(part.tool_use_id);
    }
    this.#facts.status = "working";
    if (!isRequest(line, content)) return;
    this.#facts.turns = (this.#facts.turns ?? 0) + 1;
    const text = typeof content === "string"
      ? content
      : listOf(content).map(objectOf).find(({ type }) => type === "text")?.text;
    this.#facts.title ??= textOf(text, 200);
  }

  #assistant(line: Record<string, unknown>): void {
    const { id, usage, model, content, stop_reason } = objectOf(line.message);
    const counts = objectOf(usage);
    const [input, cache_write, cache_read, output] = [
      "input_tokens",
      "cache_creation_input_tokens",
      "cache_read_input_tokens",
      "output_tokens",
    ].map((name) => countOf(counts[name])) as [number, number, number, number];
    const key = typeof id === "string" ? `${keyOf(id)} ${keyOf(line.requestId)}` : null;
    const isAnswer = model !== "<synthetic>";
    if (isAnswer) this.#tokens.add(key, { input, output, cache_read, cache_write });
    if (line.isSidechain === true) return;
    if (isAnswer) {
      this.#facts.model = textOf(model) ?? this.#facts.model;
      const used = input + cache_write + cache_read;
      if (used > 0) this.#facts.context = { used, window: null };
    }
    this.#facts.status = "working";
    for (const part of listOf(content).map(objectOf)) {
      if (part.type === "tool_use") {
        this.#calls.begin(part.id, textOf(part.name, 128) ?? "tool");
      }
      const isRefusal = line.isApiErrorMessage === true && part.type === "text";
      if (isRefusal && RATE_LIMITED.test(String(part.text))) this.#facts.status = "rate_limited";
    }
    if (stop_reason === "end_turn" && this.#facts.status === "working") this.#idle();
  }

  #idle(): void {
    this.#calls.clear();
    if (this.#facts.status !== "rate_limited") this.#facts.status = "idle";
  }

  #cost({ totalCostUSD, hasUnknownModelCost }: Record<string, unknown>): void {
    const isKnown = typeof totalCostUSD === "number" && hasUnknownModelCost !== true;
    this.#facts.cost_usd = isKnown ? totalCostUSD : null;
  }
}

/** Whether a person wrote the line, not the agent in the name of one. */
function isRequest(line: Record<string, unknown>, content: unknown): boolean {
  const { kind } = objectOf(line.origin);
  if (kind !== undefined) return kind === "human";
  if (line.isMeta === true || line.turnOrigin === "task_notification") return false;
  if (typeof content !== "string") {
    return listOf(content).map(objectOf).some(({ type }) => type === "text");
  }
  return !/^<(?:command-name|local-command|task-notification)/.test(content);
}
