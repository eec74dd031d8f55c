import { join } from "node:path";
import { listNames, readText } from "../files.ts";
import {
  type Agent,
  type Around,
  countOf,
  type FoundSession,
  NO_FACTS,
  noteTime,
  objectOf,
  OpenCalls,
  type RecordFacts,
  type RecordReader,
  textOf,
  timeOf,
  TokenSum,
} from "./agent.ts";
import { isProgram, lineageOf } from "./programs.ts";

/** Copilot CLI keeps a folder for each session, with a lock file that names its process. */
export const COPILOT_CLI: Agent = {
  id: "copilot-cli",
  name: "Copilot CLI",
  programs: ["copilot"],
  side_commands: ["mcp", "help", "version"],
  marks: { flag: "COPILOT_CLI", session: ["COPILOT_AGENT_SESSION_ID"], pid: [] },
  no_limits: "Copilot CLI asks GitHub for them with its own credential; gate sends nothing",
  async find(around) {
    if (around.own.length === 0) return [];
    const home = around.env.COPILOT_HOME || join(around.home, ".copilot");
    const folder = join(home, "session-state");
    if (last.folder !== folder) last = { folder, all_at: -Infinity, names: [] };
    const known = await sessionsIn(folder, last.names, around);
    const isEachKnown = around.own.every(({ pid }) => {
      const lineage = lineageOf(pid, around.running);
      return known.some(({ owner }) => lineage.has(owner!.pid));
    });
    // The folders of old sessions stay, and there may be thousands.
    if (isEachKnown && around.now - last.all_at < ALL_MS) return known;
    const found = await sessionsIn(folder, await listNames(folder), around);
    last = { folder, all_at: around.now, names: found.map(({ session_id }) => session_id) };
    return found;
  },
};

/** The sessions of the last look, and when all folders were looked at. */
let last = { folder: "", all_at: -Infinity, names: [] as string[] };

const MOST_SESSIONS = 2_000;
/** A process may begin a second session. */
const ALL_MS = 10_000;
const LOCK = /^inuse\.(\d+)\.lock$/;

async function sessionsIn(
  folder: string,
  names: readonly string[],
  around: Around,
): Promise<FoundSession[]> {
  const found = await Promise.all(
    names.slice(-MOST_SESSIONS).map((name) => sessionIn(join(folder, name), name, around)),
  );
  return found.flat();
}

async function sessionIn(
  folder: string,
  session_id: string,
  around: Around,
): Promise<FoundSession[]> {
  const names = await listNames(folder);
  const lock = names.find((name) => LOCK.test(name));
  if (lock === undefined) return [];
  const running = around.running.get(Number(LOCK.exec(lock)![1]));
  // A lock stays when its process was killed, and a later process may have the pid.
  if (!running || !isProgram(running, COPILOT_CLI)) return [];
  const about = await readText(join(folder, "workspace.yaml")) ?? "";
  const valueOf = (key: string) => new RegExp(`^${key}: *(.+?) *$`, "m").exec(about)?.[1] ?? null;
  return [{
    session_id,
    owner: running,
    cwd: valueOf("cwd"),
    started_at: timeOf(valueOf("created_at")),
    version: null,
    status: null,
    record: { path: join(folder, "events.jsonl"), read: () => new CopilotReader() },
    // It removes the lock when it ends in order.
    hasExited: async () => !(await listNames(folder)).includes(lock),
  }];
}

const SKIPPED = /^\{"type":"system\.message"/;

/** Reads the events of a session. */
export class CopilotReader implements RecordReader {
  readonly #facts: RecordFacts = { ...NO_FACTS };
  readonly #tokens = new TokenSum();
  readonly #calls = new OpenCalls<string>();
  readonly #asked = new OpenCalls<true>();

  skips(beginning: string): boolean {
    return SKIPPED.test(beginning);
  }

  add({ type, data: raw, timestamp }: Record<string, unknown>): void {
    const facts = this.#facts;
    const data = objectOf(raw);
    noteTime(facts, timestamp);
    switch (type) {
      case "session.start":
        facts.model = textOf(data.selectedModel) ?? facts.model;
        facts.version = textOf(data.copilotVersion, 64);
        facts.cwd = textOf(objectOf(data.context).cwd, 4096);
        facts.branch = textOf(objectOf(data.context).branch);
        break;
      case "session.model_change":
        facts.model = textOf(data.newModel) ?? facts.model;
        break;
      case "user.message":
        facts.turns = (facts.turns ?? 0) + 1;
        facts.title ??= textOf(data.content, 200);
        facts.status = "working";
        break;
      case "assistant.turn_start":
        facts.status = "working";
        break;
      case "assistant.turn_end":
        facts.status = "idle";
        break;
      case "session.shutdown":
        facts.status = "done";
        break;
      case "session.usage_record":
        this.#usage(objectOf(data.usage));
        break;
      default:
        this.#tool(type, data);
    }
  }

  facts(): RecordFacts {
    const current_task = this.#calls.newest();
    const status = this.#asked.isEmpty ? this.#facts.status : "waiting_approval";
    return { ...this.#facts, status, tokens: this.#tokens.total(), current_task };
  }

  #tool(type: unknown, data: Record<string, unknown>): void {
    if (type === "tool.execution_start") {
      this.#calls.begin(data.toolCallId, textOf(data.toolName, 128) ?? "tool");
    } else if (type === "tool.execution_complete") {
      this.#calls.end(data.toolCallId);
      const { context_token_limit, context_current_tokens } = objectOf(
        objectOf(data.toolTelemetry).metrics,
      );
      const used = countOf(context_current_tokens);
      const window = countOf(context_token_limit) || null;
      if (used > 0) this.#facts.context = { used, window };
    } else if (type === "permission.requested") this.#asked.begin(data.requestId, true);
    else if (type === "permission.completed") this.#asked.end(data.requestId);
  }

  #usage(usage: Record<string, unknown>): void {
    const cache_read = countOf(usage.cacheReadTokens);
    const cache_write = countOf(usage.cacheWriteTokens);
    const whole = countOf(usage.inputTokens);
    const input = Math.max(0, whole - cache_read - cache_write);
    this.#tokens.add(null, { input, cache_read, cache_write, output: countOf(usage.outputTokens) });
    this.#facts.model = textOf(usage.model) ?? this.#facts.model;
    this.#facts.context = { used: whole, window: countOf(usage.maxPromptTokens) || null };
  }
}
