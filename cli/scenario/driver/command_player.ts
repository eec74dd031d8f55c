import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { Scenario } from "../schema.ts";
import {
  parseArguments,
  type Player,
  PlayerError,
  type ToolCall,
  type ToolResult,
} from "./player.ts";
import { toolSchemas } from "./tools.ts";

const ANSWER_MS = 120_000;
const LINE_CHARS = 1024 * 1024;

/**
 * A program as a player. It reads one JSON line with the scenario and the tools. For each move it
 * writes one `{"name", "arguments"}` line and reads one line with the result.
 */
export class CommandPlayer implements Player {
  readonly tokens = 0;
  readonly #program: string;
  readonly #killGroup: (pid: number) => void;
  #child: ChildProcess | null = null;
  #lines: AsyncIterator<string, null> | null = null;
  #failed: Promise<never> | null = null;

  constructor(program: string, killGroup: (pid: number) => void) {
    this.#program = program;
    this.#killGroup = killGroup;
  }

  begin(scenario: Scenario): Promise<ToolCall[]> {
    const child = spawn(this.#program, [], { detached: true, stdio: ["pipe", "pipe", "ignore"] });
    // When a program cannot be started, its streams may stay open for ever.
    this.#failed = new Promise((_resolve, reject) => {
      child.on("error", ({ message }) => {
        reject(new PlayerError(`${this.#program} cannot be started: ${message}`));
      });
    });
    this.#failed.catch(() => {});
    child.stdin!.on("error", () => {});
    this.#child = child;
    this.#lines = linesOf(child.stdout!);
    return this.#move({ type: "scenario", scenario, tools: toolSchemas() });
  }

  next(results: ToolResult[]): Promise<ToolCall[]> {
    return this.#move({ type: "result", result: JSON.parse(results[0]?.content ?? "null") });
  }

  end(): void {
    if (this.#child?.pid !== undefined) this.#killGroup(this.#child.pid);
  }

  async #move(message: unknown): Promise<ToolCall[]> {
    this.#child!.stdin!.write(`${JSON.stringify(message)}\n`);
    const line = await this.#readLine();
    if (line === null) return [];
    const call = parseArguments(line);
    if (!call) throw new PlayerError("it wrote a line that is not a JSON object");
    return [{ id: "1", name: String(call.name), arguments: parseArguments(call.arguments ?? {}) }];
  }

  async #readLine(): Promise<string | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new PlayerError("it did not answer in time")), ANSWER_MS);
    });
    try {
      const { value, done } = await Promise.race([this.#lines!.next(), this.#failed!, late]);
      return done ? null : value;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The lines of a stream. @throws PlayerError for a line without an end */
async function* linesOf(stream: Readable): AsyncGenerator<string, null> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop()!;
    yield* lines;
    if (text.length > LINE_CHARS) throw new PlayerError("it wrote a line without an end");
  }
  if (text !== "") yield text;
  return null;
}
