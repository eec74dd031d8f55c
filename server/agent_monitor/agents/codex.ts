import { stat } from "node:fs/promises";
import { join } from "node:path";
import { listNames } from "../files.ts";
import {
  type Agent,
  type AgentProcess,
  type Around,
  countOf,
  type FoundSession,
  type LimitFacts,
  NO_FACTS,
  noteTime,
  objectOf,
  type OpenCall,
  OpenCalls,
  type RecordFacts,
  type RecordReader,
  textOf,
  timeOf,
} from "./agent.ts";
import { parseJson } from "../parse_json.ts";
import { FirstLines } from "./first_lines.ts";

/**
 * Codex keeps a record for each session, and locks a file while a session is loaded. One server
 * process holds the interactive sessions of all terminals, so parents do not tell whose they are.
 */
export const CODEX: Agent = {
  id: "codex",
  name: "Codex CLI",
  programs: ["codex"],
  side_commands: [
    "app-server",
    "mcp-server",
    "mcp",
    "proto",
    "login",
    "logout",
    "completion",
    "sandbox",
  ],
  marks: { flag: "CODEX_THREAD_ID", session: ["CODEX_THREAD_ID", "CODEX_SESSION_ID"], pid: [] },
  no_limits: null,
  async find(around) {
    const home = around.env.CODEX_HOME || join(around.home, ".codex");
    if (around.own.length === 0 && (await listNames(home)).length === 0) return [];
    const records = await newestRecords(join(home, "sessions"), around.now);
    const free = [...around.own];
    const found: FoundSession[] = [];
    for (const { path, session_id } of records) {
      const isLocked = await isHeld(
        join(home, "thread-writer-locks", `${session_id}.lock`),
        around,
      );
      if (isLocked === false && free.length === 0) continue;
      const first = await FIRST.of(path);
      const { cwd = null, timestamp, cli_version } = objectOf(first?.payload);
      const started_at = timeOf(timestamp);
      const at = free.findIndex((one) => isOf(one, textOf(cwd, 4096), started_at));
      if (isLocked !== true && at < 0) continue;
      const [owner = null] = at < 0 ? [] : free.splice(at, 1);
      found.push({
        session_id,
        owner,
        cwd: textOf(cwd, 4096),
        started_at,
        version: textOf(cli_version, 64),
        status: null,
        record: { path, read: () => new CodexReader() },
      });
    }
    return found;
  },
};

const FIRST = new FirstLines();
const MOST_RECORDS = 200;
/** A terminal may stay open for some days. */
const MOST_DAYS = 8;
/** A session may be a little older than the process that resumed it writes. */
const SLACK_MS = 10_000;

/** The records of the last days, the newest first. */
async function newestRecords(folder: string, now: number) {
  const days: string[] = [];
  for (const year of await newestNames(folder, /^\d{4}$/)) {
    for (const month of await newestNames(join(folder, year), /^\d{2}$/)) {
      const names = await newestNames(join(folder, year, month), /^\d{2}$/);
      days.push(...names.map((day) => join(folder, year, month, day)));
      if (days.length >= MOST_DAYS) break;
    }
    if (days.length >= MOST_DAYS) break;
  }
  const lists = await Promise.all(
    days.slice(0, MOST_DAYS).map(async (day) =>
      (await newestNames(day, RECORD)).map((name) => ({
        path: join(day, name),
        session_id: RECORD.exec(name)![1]!,
      }))
    ),
  );
  const newest = lists.flat().slice(0, MOST_RECORDS);
  const times = await Promise.all(
    newest.map(({ path }) => stat(path).then(({ mtimeMs }) => mtimeMs, () => 0)),
  );
  return newest.map((one, at) => ({ ...one, at: Math.min(times[at]!, now) }))
    .toSorted((a, b) => b.at - a.at);
}

const RECORD = /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

async function newestNames(folder: string, form: RegExp): Promise<string[]> {
  const names = await listNames(folder);
  return names.filter((name) => form.test(name)).reverse();
}

/** Whether a process holds the lock of the session; null where that cannot be known. */
async function isHeld(path: string, { locked }: Around): Promise<boolean | null> {
  if (locked === null) return null;
  const found = await stat(path, { bigint: true }).catch(() => null);
  return found === null ? false : locked.has(`${found.dev}:${found.ino}`);
}

/** Whether a terminal or a run works in the folder since before the session began. */
function isOf(owner: AgentProcess, cwd: string | null, started_at: number | null): boolean {
  if (owner.cwd === null || owner.cwd !== cwd) return false;
  if (owner.argv.includes("resume") || started_at === null) return true;
  return owner.started_at === null || owner.started_at <= started_at + SLACK_MS;
}

const SKIPPED = /^\{"timestamp":"[^"]*",(?:"ordinal":\d+,)?"type":"world_state"/;

/** Reads a record of either generation. Its totals grow, and begin anew when a session is resumed. */
export class CodexReader implements RecordReader {
  readonly #facts: RecordFacts = { ...NO_FACTS };
  readonly #before = { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0 };
  #last = { input: 0, output: 0, cache_read: 0, cache_write: 0, total: 0 };
  readonly #calls = new OpenCalls<{ name: string; open_call: OpenCall | null }>();
  #asks_nobody = false;

  skips(beginning: string): boolean {
    return SKIPPED.test(beginning);
  }

  add(line: Record<string, unknown>): void {
    const facts = this.#facts;
    const at = noteTime(facts, line.timestamp);
    const payload = objectOf(line.payload);
    if (line.type === "session_meta") {
      facts.cwd = textOf(payload.cwd, 4096);
      facts.version = textOf(payload.cli_version, 64);
      facts.branch = textOf(objectOf(payload.git).branch);
    } else if (line.type === "turn_context") {
      facts.cwd = textOf(payload.cwd, 4096) ?? facts.cwd;
      facts.model = textOf(payload.model) ?? facts.model;
      this.#asks_nobody = payload.approval_policy === "never";
    } else if (line.type === "response_item") this.#item(payload, at);
    else if (line.type === "event_msg") this.#event(payload, at);
  }

  missed(): void {
    this.#calls.clear();
  }

  facts(): RecordFacts {
    const { name = null, open_call = null } = this.#calls.newest() ?? {};
    return { ...this.#facts, current_task: name, open_call };
  }

  #item({ type, name, call_id, arguments: given }: Record<string, unknown>, at: number | null) {
    if (type === "function_call" || type === "local_shell_call" || type === "custom_tool_call") {
      const open_call = callOf(name, given, { at, asks_nobody: this.#asks_nobody });
      this.#calls.begin(call_id, { name: textOf(name, 128) ?? "shell", open_call });
      this.#facts.status = "working";
    } else if (type === "function_call_output" || type === "custom_tool_call_output") {
      this.#calls.end(call_id);
    }
  }

  #event(payload: Record<string, unknown>, at: number | null): void {
    const { type, item, message } = payload;
    if (type === "task_started") {
      this.#facts.status = "working";
      this.#window(payload.model_context_window);
    } else if (type === "task_complete" || type === "turn_aborted") {
      this.#calls.clear();
      this.#facts.status = "idle";
    } else if (type === "user_message") this.#request(message);
    else if (type === "item_completed" && objectOf(item).type === "UserMessage") {
      const { content } = objectOf(item);
      this.#request(Array.isArray(content) ? objectOf(content[0]).text : null);
    } else if (type === "token_count") this.#count(payload, at);
  }

  #request(text: unknown): void {
    this.#facts.turns = (this.#facts.turns ?? 0) + 1;
    this.#facts.title ??= textOf(text, 200);
  }

  #window(size: unknown): void {
    const window = countOf(size) || null;
    if (this.#facts.context && window) this.#facts.context = { ...this.#facts.context, window };
  }

  #count({ info, rate_limits }: Record<string, unknown>, at: number | null): void {
    const limits = limitsOf(objectOf(rate_limits), at);
    if (limits !== null) this.#facts.limits = limits;
    if (objectOf(rate_limits).rate_limit_reached_type) this.#facts.status = "rate_limited";
    const { total_token_usage, last_token_usage, model_context_window } = objectOf(info);
    if (total_token_usage === undefined) return;
    const now = countsOf(objectOf(total_token_usage));
    if (now.total < this.#last.total) {
      for (const name of NAMES) this.#before[name] += this.#last[name];
    }
    this.#last = now;
    const sum = { ...this.#before };
    for (const name of NAMES) sum[name] += now[name];
    this.#facts.tokens = sum;
    const used = countOf(objectOf(last_token_usage).input_tokens);
    this.#facts.context = { used, window: countOf(model_context_window) || null };
  }
}

/**
 * The call as one that may wait for the person: a question, a command or a patch. Other tools may run
 * for a while without a process of their own.
 */
function callOf(
  name: unknown,
  given: unknown,
  { at, asks_nobody }: { at: number | null; asks_nobody: boolean },
): OpenCall | null {
  if (name === "request_user_input") {
    return { command: null, at, waits: "waiting_input", is_certain: true };
  }
  if (asks_nobody || (typeof name === "string" && !ASKED.has(name))) return null;
  const { cmd, command, sandbox_permissions, with_escalated_permissions } = parsed(given);
  return {
    command: textOf(Array.isArray(command) ? command.at(-1) : cmd ?? command, 4096),
    at,
    waits: "waiting_approval",
    // Codex asks before a command runs outside its sandbox.
    is_certain: sandbox_permissions === "require_escalated" || with_escalated_permissions === true,
  };
}

const ASKED = new Set(["exec_command", "shell", "shell_command", "local_shell", "apply_patch"]);

function parsed(given: unknown): Record<string, unknown> {
  try {
    return objectOf(parseJson(String(given)));
  } catch {
    return {};
  }
}

const NAMES = ["input", "output", "cache_read", "cache_write", "total"] as const;

/** The counts of an answer: what came from the cache is a part of the input. */
function countsOf(usage: Record<string, unknown>) {
  const cache_read = countOf(usage.cached_input_tokens);
  const cache_write = countOf(usage.cache_write_input_tokens);
  const input = Math.max(0, countOf(usage.input_tokens) - cache_read - cache_write);
  const output = countOf(usage.output_tokens);
  return {
    input,
    output,
    cache_read,
    cache_write,
    total: input + output + cache_read + cache_write,
  };
}

/** The limits of the account; other ids are those of single models. */
function limitsOf(limits: Record<string, unknown>, at: number | null): LimitFacts | null {
  if (limits.limit_id !== undefined && limits.limit_id !== "codex") return null;
  const found = ["primary", "secondary"].flatMap((id) => {
    const { used_percent, window_minutes, resets_at } = objectOf(limits[id]);
    if (typeof used_percent !== "number") return [];
    return [{
      id,
      window_minutes: countOf(window_minutes) || null,
      used_percent,
      resets_at: typeof resets_at === "number" ? timeOf(resets_at * 1000) : null,
    }];
  });
  return found.length === 0 ? null : { at, limits: found };
}
