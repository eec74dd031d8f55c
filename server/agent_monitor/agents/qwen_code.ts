import { join } from "node:path";
import { z } from "zod";
import { listNames, readJson } from "../files.ts";
import {
  type Agent,
  type Around,
  countOf,
  type FoundSession,
  listOf,
  NO_FACTS,
  noteTime,
  objectOf,
  type OpenCall,
  OpenCalls,
  type RecordFacts,
  type RecordReader,
  textOf,
  timeOf,
  TokenSum,
} from "./agent.ts";
import { newestChats } from "./gemini_cli.ts";
import { lineageOf } from "./programs.ts";

/**
 * Qwen Code grew out of Gemini CLI, but keeps its chats by folder and in its own form
 * (QwenLM/qwen-code, `chatRecordingService.ts`, read 2026-11).
 */
export const QWEN_CODE: Agent = {
  id: "qwen-code",
  name: "Qwen Code",
  programs: ["qwen"],
  side_commands: ["mcp", "extensions", "auth", "hooks"],
  marks: { flag: "QWEN_CODE", session: [], pid: [] },
  no_limits: "Qwen Code writes none to its records",
  async find(around) {
    if (around.own.length === 0) return [];
    const root = around.env.QWEN_RUNTIME_DIR || join(around.home, ".qwen");
    const folderOf = (cwd: string) =>
      join(root, "projects", cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), "chats");
    const named = await namedSessions(around, folderOf);
    const others = around.own.filter((one) =>
      !named.some(({ owner }) => lineageOf(owner!.pid, around.running).has(one.pid))
    );
    const read = () => new QwenReader();
    const taken = named.map(({ record }) => record!.path);
    return [...named, ...await newestChats(others, folderOf, { read, taken })];
  },
};

const NOTE = /^([0-9a-zA-Z-]{1,128})\.runtime\.json$/;
const MOST_NOTES = 200;
/** A session is noted this long after its process began, at most. */
const SLACK_MS = 1_000;

const Noted = z.looseObject({
  pid: z.number().int(),
  session_id: z.string().min(1).max(256),
  started_at: z.number(),
  qwen_version: z.string().max(64).optional(),
});

/** The sessions that Qwen Code notes beside their chats, each with its process. */
async function namedSessions(
  { own, running }: Around,
  folderOf: (cwd: string) => string,
): Promise<FoundSession[]> {
  const found = new Map<number, FoundSession>();
  for (const cwd of new Set(own.flatMap((one) => one.cwd ?? []))) {
    const folder = folderOf(cwd);
    const names = (await listNames(folder)).filter((name) => NOTE.test(name));
    const notes = await Promise.all(
      names.slice(0, MOST_NOTES).map((name) => readJson(join(folder, name))),
    );
    for (const note of notes) {
      const { success, data } = Noted.safeParse(note);
      const owner = success ? running.get(data.pid) : undefined;
      if (!success || !owner) continue;
      const lineage = lineageOf(owner.pid, running);
      if (!own.some(({ pid }) => lineage.has(pid))) continue;
      const started_at = timeOf(data.started_at * 1000);
      // A later process has the pid of the one that wrote the note.
      if (started_at === null || (owner.started_at ?? 0) > started_at + SLACK_MS) continue;
      const before = found.get(owner.pid)?.started_at ?? 0;
      if (before > started_at) continue;
      const path = join(folder, `${data.session_id}.jsonl`);
      found.set(owner.pid, {
        ...{ session_id: data.session_id, owner, cwd, started_at },
        ...{ version: data.qwen_version ?? null, status: null },
        record: { path, read: () => new QwenReader() },
      });
    }
  }
  return [...found.values()];
}

const SKIPPED = /"type":"system"/;

/** Reads a chat of records with a `usageMetadata` for each answer. */
export class QwenReader implements RecordReader {
  readonly #facts: RecordFacts = { ...NO_FACTS };
  readonly #tokens = new TokenSum();
  readonly #calls = new OpenCalls<{ name: string | null; open_call: OpenCall | null }>();

  skips(beginning: string): boolean {
    return SKIPPED.test(beginning);
  }

  add(line: Record<string, unknown>): void {
    const facts = this.#facts;
    noteTime(facts, line.timestamp);
    facts.cwd = textOf(line.cwd, 4096) ?? facts.cwd;
    facts.branch = textOf(line.gitBranch) ?? facts.branch;
    facts.version = textOf(line.version, 64) ?? facts.version;
    if (line.type === "user") this.#user(line);
    else if (line.type === "assistant") this.#answer(line);
    else if (line.type === "tool_result" && line.isSidechain !== true) this.#result(line);
  }

  missed(): void {
    this.#calls.clear();
  }

  facts(): RecordFacts {
    const { name = null, open_call = null } = this.#calls.oldest() ?? {};
    return { ...this.#facts, tokens: this.#tokens.total(), current_task: name, open_call };
  }

  #user({ message, subtype, isSidechain }: Record<string, unknown>): void {
    if (isSidechain === true) return;
    this.#facts.status = "working";
    this.#calls.clear();
    if (subtype !== undefined) return;
    this.#facts.turns = (this.#facts.turns ?? 0) + 1;
    this.#facts.title ??= textOf(objectOf(listOf(objectOf(message).parts)[0]).text, 200);
  }

  #answer(line: Record<string, unknown>): void {
    const usage = objectOf(line.usageMetadata);
    const whole = countOf(usage.promptTokenCount);
    const cache_read = Math.min(whole, countOf(usage.cachedContentTokenCount));
    if (line.usageMetadata !== undefined) {
      this.#tokens.add(textOf(line.uuid, 128), {
        input: whole - cache_read,
        output: countOf(usage.candidatesTokenCount) + countOf(usage.thoughtsTokenCount),
        cache_read,
        cache_write: 0,
      });
    }
    if (line.isSidechain === true) return;
    this.#facts.model = textOf(line.model) ?? this.#facts.model;
    if (whole > 0) {
      this.#facts.context = { used: whole, window: countOf(line.contextWindowSize) || null };
    }
    this.#calls.clear();
    for (const part of listOf(objectOf(line.message).parts).map(objectOf)) {
      if (part.functionCall === undefined) continue;
      const { id, name, args } = objectOf(part.functionCall);
      const open_call = callOf(name, objectOf(args), timeOf(line.timestamp));
      this.#calls.begin(id, { name: textOf(name, 128), open_call });
    }
    this.#facts.status = this.#calls.isEmpty ? "idle" : "working";
  }

  #result({ message }: Record<string, unknown>): void {
    const ids = listOf(objectOf(message).parts).map(objectOf)
      .flatMap(({ functionResponse }) => functionResponse === undefined ? [] : [functionResponse])
      .map((response) => objectOf(response).id);
    for (const id of ids) this.#calls.end(id);
    // Older releases do not name the call.
    if (ids.length === 0) this.#calls.clear();
  }
}

/** Tools that change a file at once, so that an open call of one waits for the person. */
const QUICK_TOOLS = new Set(["edit", "write_file", "replace", "notebook_edit"]);

function callOf(name: unknown, args: Record<string, unknown>, at: number | null): OpenCall | null {
  if (name === "ask_user_question") {
    return { command: null, at, waits: "waiting_input", is_certain: true };
  }
  if (name !== "run_shell_command" && !QUICK_TOOLS.has(String(name))) return null;
  const command = textOf(args.command, 4096);
  return { command, at, waits: "waiting_approval", is_certain: false };
}
