import type { Scenario } from "../schema.ts";
import { askModel, parseArguments, tokensIn } from "./ask.ts";
import { type Player, PlayerError, type ToolCall, type ToolResult } from "./player.ts";
import { SYSTEM, taskOf } from "./prompt.ts";
import { toolSchemas } from "./tools.ts";

interface Message {
  role: string;
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** A model behind any API that speaks OpenAI's chat completions with tools. */
export class OpenAiPlayer implements Player {
  tokens = 0;
  readonly #options: { model: string; base_url: string; key: string };
  readonly #messages: Message[] = [{ role: "system", content: SYSTEM }];

  constructor(options: { model: string; base_url: string; key: string }) {
    this.#options = options;
  }

  begin(scenario: Scenario): Promise<ToolCall[]> {
    this.#messages.push({ role: "user", content: taskOf(scenario) });
    return this.#ask();
  }

  next(results: ToolResult[]): Promise<ToolCall[]> {
    for (const { id, content } of results) {
      this.#messages.push({ role: "tool", tool_call_id: id, content });
    }
    return this.#ask();
  }

  end(): void {}

  async #ask(): Promise<ToolCall[]> {
    const { model, base_url, key } = this.#options;
    const tools = toolSchemas().map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    }));
    const body = { model, messages: this.#messages, tools, temperature: 0 };
    const url = `${base_url.replace(/\/+$/, "")}/chat/completions`;
    const answer = await askModel(url, { Authorization: `Bearer ${key}` }, body) as {
      choices?: { message?: Message }[];
      usage?: { total_tokens?: number };
    } | null;
    this.tokens += tokensIn(answer?.usage?.total_tokens);
    const message = answer?.choices?.[0]?.message;
    const calls = message?.tool_calls ?? [];
    if (!message || !Array.isArray(calls)) {
      throw new PlayerError("the model's API answered without a message");
    }
    this.#messages.push(message);
    return calls.map((call) => ({
      id: String(call?.id),
      name: String(call?.function?.name),
      arguments: parseArguments(call?.function?.arguments),
    }));
  }
}
