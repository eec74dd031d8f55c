import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { listNames, readJson } from "../files.ts";
import {
  type Agent,
  type AgentProcess,
  countOf,
  type FoundSession,
  keyOf,
  listOf,
  NO_FACTS,
  noteTime,
  objectOf,
  type RecordFacts,
  type RecordReader,
  textOf,
  timeOf,
  TokenSum,
} from "./agent.ts";
import { FirstLines } from "./first_lines.ts";

/** Gemini CLI has no list of its sessions: a process and the newest chat of its folder are one. */
export const GEMINI_CLI: Agent = {
  id: "gemini-cli",
  name: "Gemini CLI",
  programs: ["gemini"],
  side_commands: ["mcp", "extensions", "skills", "hooks"],
  marks: { flag: "GEMINI_CLI", session: [], pid: [] },
  no_limits: "Gemini CLI asks Google for them with its own credential; gate sends nothing",
  async find(around) {
    if (around.own.length === 0) return [];
    const root = join(around.env.GEMINI_CLI_HOME || around.home, ".gemini");
    const folders = objectOf(objectOf(await readJson(join(root, "projects.json"))).projects);
    return await newestChats(around.own, (cwd) => {
      const slug = textOf(folders[cwd]) ?? createHash("sha256").update(cwd).digest("hex");
      return isName(slug) ? join(root, "tmp", slug, "chats") : null;
    }, { read: () => new GeminiReader() });
  },
};

const FIRST = new FirstLines();
/** A chat may be begun a little before the process that is seen. */
const SLACK_MS = 60_000;
const MOST_CHATS = 50;

/**
 * A session for each process: the newest chat in the folder for its working folder, if the chat was
 * written since the process began. No chat belongs to two processes.
 */
export async function newestChats(
  own: readonly AgentProcess[],
  folderOf: (cwd: string) => string | null,
  { read, taken: others = [] }: { read: () => RecordReader; taken?: readonly string[] },
): Promise<FoundSession[]> {
  const taken = new Set(others);
  const found: FoundSession[] = [];
  for (const owner of own.toSorted((a, b) => (b.started_at ?? 0) - (a.started_at ?? 0))) {
    const folder = owner.cwd === null ? null : folderOf(owner.cwd);
    const chats = folder === null ? [] : await chatsIn(folder);
    const since = (owner.started_at ?? 0) - SLACK_MS;
    const chat = chats.find(({ path, at }) => at >= since && !taken.has(path));
    if (!chat) continue;
    taken.add(chat.path);
    const first = await FIRST.of(chat.path);
    found.push({
      session_id: textOf(first?.sessionId) ?? chat.name,
      owner,
      cwd: owner.cwd,
      started_at: timeOf(first?.startTime ?? first?.timestamp) ?? owner.started_at,
      version: null,
      status: null,
      record: { path: chat.path, read },
    });
  }
  return found;
}

async function chatsIn(folder: string) {
  const names = (await listNames(folder)).filter((name) => name.endsWith(".jsonl"));
  const chats = await Promise.all(
    names.slice(-MOST_CHATS).map(async (name) => {
      const path = join(folder, name);
      const at = await stat(path).then(({ mtimeMs }) => mtimeMs, () => 0);
      return { name: name.replace(/\.jsonl$/, ""), path, at };
    }),
  );
  return chats.toSorted((a, b) => b.at - a.at);
}

function isName(slug: string): boolean {
  return !/[/\\]/.test(slug) && slug !== "." && slug !== "..";
}

/** Reads a chat. A line with the id of an earlier one replaces it. */
class GeminiReader implements RecordReader {
  readonly #facts: RecordFacts = { ...NO_FACTS };
  readonly #tokens = new TokenSum();
  readonly #requests = new Set<string>();
  #task: string | null = null;

  add(line: Record<string, unknown>): void {
    const facts = this.#facts;
    noteTime(facts, line.timestamp ?? line.startTime);
    const set = objectOf(line.$set);
    const changed = timeOf(set.lastUpdated);
    if (changed !== null) facts.last_at = Math.max(facts.last_at ?? 0, changed);
    for (const message of listOf(set.messages).map(objectOf)) this.#message(message);
    if (line.type !== undefined) this.#message(line);
  }

  missed(): void {
    this.#facts.open_call = null;
  }

  facts(): RecordFacts {
    return { ...this.#facts, tokens: this.#tokens.total(), current_task: this.#task };
  }

  #message(line: Record<string, unknown>): void {
    if (line.type === "user") this.#user(line);
    else if (line.type === "gemini") this.#answer(line);
    else if (line.type === "error") this.#error();
  }

  #user({ id, content }: Record<string, unknown>): void {
    const parts = typeof content === "string" ? [{ text: content }] : listOf(content).map(objectOf);
    const text = parts.map((part) => objectOf(part).text).find((one) => typeof one === "string");
    if (typeof text === "string" && text.startsWith("<session_context>")) return;
    this.#facts.status = "working";
    this.#facts.open_call = null;
    this.#task = null;
    if (text === undefined || this.#requests.has(keyOf(id))) return;
    if (this.#requests.size < MOST_REQUESTS) this.#requests.add(keyOf(id));
    this.#facts.turns = (this.#facts.turns ?? 0) + 1;
    this.#facts.title ??= textOf(text, 200);
  }

  #error(): void {
    this.#facts.status = "idle";
    this.#facts.open_call = null;
  }

  #answer({ id, tokens: raw, model, toolCalls, content }: Record<string, unknown>): void {
    const tokens = objectOf(raw);
    const whole = countOf(tokens.input);
    if (raw !== undefined) {
      const cache_read = Math.min(whole, countOf(tokens.cached));
      this.#tokens.add(textOf(id, 128), {
        input: whole - cache_read + countOf(tokens.tool),
        output: countOf(tokens.output) + countOf(tokens.thoughts),
        cache_read,
        cache_write: 0,
      });
      if (whole > 0) this.#facts.context = { used: whole, window: null };
    }
    this.#facts.model = textOf(model) ?? this.#facts.model;
    const calls = listOf(toolCalls).map(objectOf);
    const open = calls.find(({ status }) => !ENDED.has(String(status)));
    this.#task = open ? textOf(open.name, 128) : null;
    const isLast = calls.length === 0 && content !== "" && content !== undefined;
    this.#facts.status = isLast ? "idle" : "working";
    // Gemini CLI adds the calls of an answer once they have ended, so none of them is known here.
    const isOpen = !isLast && (calls.length === 0 || open !== undefined);
    this.#facts.open_call = isOpen
      ? { command: null, at: this.#facts.last_at, waits: "unknown", is_certain: false }
      : null;
  }
}

const ENDED = new Set(["success", "error", "cancelled"]);
const MOST_REQUESTS = 10_000;
