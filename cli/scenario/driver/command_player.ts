import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Scenario } from "../schema.ts";
import { parseArguments } from "./ask.ts";
import { type Player, PlayerError, type ToolCall, type ToolResult } from "./player.ts";
import { toolSchemas } from "./tools.ts";

const ANSWER_MS = 120_000;
const LINE_BYTES = 1024 * 1024;

/**
 * A program that plays: it reads one JSON line with the scenario and the tools, then writes one
 * `{"name", "arguments"}` line for each move and reads one line with the result.
 */
export class CommandPlayer implements Player {
  readonly tokens = 0;
  readonly #program: string;
  readonly #killGroup: (pid: number) => void;
  #child: ChildProcess | null = null;
  #lines: AsyncIterator<string> | null = null;
  #error: string | null = null;

  constructor(program: string, killGroup: (pid: number) => void) {
    this.#program = program;
    this.#killGroup = killGroup;
  }

  begin(scenario: Scenario): Promise<ToolCall[]> {
    const child = spawn(this.#program, [], { detached: true, stdio: ["pipe", "pipe", "ignore"] });
    child.on("error", (error) => this.#error = error.message);
    child.stdin!.on("error", () => {});
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
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
    if (line === null) {
      if (this.#error) throw new PlayerError(`${this.#program} cannot be started: ${this.#error}`);
      return [];
    }
    const call = parseArguments(line.slice(0, LINE_BYTES));
    if (!call) throw new PlayerError("it wrote a line that is no JSON object");
    return [{ id: "1", name: String(call.name), arguments: parseArguments(call.arguments ?? {}) }];
  }

  async #readLine(): Promise<string | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new PlayerError("it did not answer in time")), ANSWER_MS);
    });
    try {
      const { value, done } = await Promise.race([this.#lines!.next(), late]);
      return done ? null : value;
    } finally {
      clearTimeout(timer);
    }
  }
}
