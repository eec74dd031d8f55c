import type { Scenario } from "../schema.ts";
import { askModel, parseArguments, tokensIn } from "./ask.ts";
import { type Player, PlayerError, type ToolCall, type ToolResult } from "./player.ts";
import { SYSTEM, taskOf } from "./prompt.ts";
import { toolSchemas } from "./tools.ts";

interface Block {
  type: string;
  id?: string;
  name?: string;
  input?: unknown;
}

/** A model behind Anthropic's messages API. */
export class AnthropicPlayer implements Player {
  tokens = 0;
  readonly #options: { model: string; base_url: string; key: string };
  readonly #messages: { role: string; content: unknown }[] = [];

  constructor(options: { model: string; base_url: string; key: string }) {
    this.#options = options;
  }

  begin(scenario: Scenario): Promise<ToolCall[]> {
    this.#messages.push({ role: "user", content: taskOf(scenario) });
    return this.#ask();
  }

  next(results: ToolResult[]): Promise<ToolCall[]> {
    const content = results.map(({ id, content }) => ({
      type: "tool_result",
      tool_use_id: id,
      content,
    }));
    this.#messages.push({ role: "user", content });
    return this.#ask();
  }

  end(): void {}

  async #ask(): Promise<ToolCall[]> {
    const { model, base_url, key } = this.#options;
    const tools = toolSchemas().map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: schema,
    }));
    const body = { model, max_tokens: 4_096, system: SYSTEM, messages: this.#messages, tools };
    const headers = { "x-api-key": key, "anthropic-version": "2023-06-01" };
    const url = `${base_url.replace(/\/+$/, "")}/v1/messages`;
    const answer = await askModel(url, headers, body) as {
      content?: Block[];
      usage?: { input_tokens?: number; output_tokens?: number };
    } | null;
    this.tokens += tokensIn(answer?.usage?.input_tokens, answer?.usage?.output_tokens);
    if (!Array.isArray(answer?.content)) {
      throw new PlayerError("the model's API answered without content");
    }
    this.#messages.push({ role: "assistant", content: answer.content });
    return answer.content.filter((block) => block?.type === "tool_use").map((block) => ({
      id: String(block.id),
      name: String(block.name),
      arguments: parseArguments(block.input),
    }));
  }
}
