import { join } from "node:path";
import {
  type Agent,
  countOf,
  listOf,
  NO_FACTS,
  objectOf,
  type RecordFacts,
  type RecordReader,
  textOf,
  timeOf,
  TokenSum,
} from "./agent.ts";
import { newestChats } from "./gemini_cli.ts";

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
    return await newestChats(around.own, (cwd) => {
      const slug = cwd.replaceAll(/[^A-Za-z0-9]/g, "-");
      return join(root, "projects", slug, "chats");
    }, () => new QwenReader());
  },
};

const SKIPPED = /"type":"system"/;

/** Reads a chat of records with a `usageMetadata` for each answer. */
export class QwenReader implements RecordReader {
  readonly #facts: RecordFacts = { ...NO_FACTS };
  readonly #tokens = new TokenSum();
  #task: string | null = null;

  skips(beginning: string): boolean {
    return SKIPPED.test(beginning);
  }

  add(line: Record<string, unknown>): void {
    const facts = this.#facts;
    const at = timeOf(line.timestamp);
    facts.started_at ??= at;
    if (at !== null) facts.last_at = Math.max(facts.last_at ?? 0, at);
    facts.cwd = textOf(line.cwd, 4096) ?? facts.cwd;
    facts.branch = textOf(line.gitBranch) ?? facts.branch;
    facts.version = textOf(line.version, 64) ?? facts.version;
    if (line.type === "user") this.#user(line);
    else if (line.type === "assistant") this.#answer(line);
    else if (line.type === "tool_result" && line.isSidechain !== true) this.#task = null;
  }

  facts(): RecordFacts {
    return { ...this.#facts, tokens: this.#tokens.total(), current_task: this.#task };
  }

  #user({ message, subtype, isSidechain }: Record<string, unknown>): void {
    if (isSidechain === true) return;
    this.#facts.status = "working";
    if (subtype !== undefined) return;
    this.#facts.turns = (this.#facts.turns ?? 0) + 1;
    this.#facts.title ??= textOf(objectOf(listOf(objectOf(message).parts)[0]).text, 200);
  }

  #answer(line: Record<string, unknown>): void {
    const usage = objectOf(line.usageMetadata);
    const whole = countOf(usage.promptTokenCount);
    const cache_read = Math.min(whole, countOf(usage.cachedContentTokenCount));
    if (line.usageMetadata !== undefined) {
      this.#tokens.add(textOf(line.uuid), {
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
    const calls = listOf(objectOf(line.message).parts).map(objectOf)
      .flatMap(({ functionCall }) => functionCall === undefined ? [] : [objectOf(functionCall)]);
    this.#task = calls.length === 0 ? null : textOf(calls.at(-1)!.name, 128);
    this.#facts.status = calls.length === 0 ? "idle" : "working";
  }
}
