import { createServer, type IncomingMessage, type Server } from "node:http";

/** One tool call of the model. */
export interface ScriptedCall {
  name: string;
  input: Record<string, unknown>;
}

/** A model that makes the same calls every time, and records their results. */
export interface ScriptedModel {
  url: string;
  /** The result of each call, as text. */
  results: string[];
  /** How often it was asked what to do next. */
  turns: number;
  /** The names of the offered tools. */
  tools: Set<string>;
  close(): void;
}

/** Speaks the streamed Messages API on loopback. */
export async function startModel(calls: ScriptedCall[]): Promise<ScriptedModel> {
  const results: string[] = [];
  const tools = new Set<string>();
  let turns = 0;
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    for (const { name } of body.tools ?? []) tools.add(name);
    const received = resultsIn(body);
    if (received.length > results.length) results.splice(0, results.length, ...received);
    if (body.tools?.length) turns++;
    // A request without tools asks for a session title.
    const call = body.tools?.length ? calls[received.length] : undefined;
    const block = call
      ? { type: "tool_use", id: `toolu_${received.length}`, name: call.name, input: {} }
      : { type: "text", text: "" };
    const delta = call
      ? { type: "input_json_delta", partial_json: JSON.stringify(call.input) }
      : { type: "text_delta", text: "All done." };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "msg_1", type: "message", role: "assistant", model: body.model, usage };
    const events = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: call ? "tool_use" : "end_turn" }, usage },
      { type: "message_stop" },
    ];
    if (!body.stream) {
      response.setHeader("content-type", "application/json");
      const content = [{ type: "text", text: "All done." }];
      return response.end(JSON.stringify({ ...message, content, stop_reason: "end_turn" }));
    }
    response.setHeader("content-type", "text/event-stream");
    response.end(
      events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(""),
    );
  });
  const url = await listen(server);
  return {
    ...{ url, results, tools },
    get turns() {
      return turns;
    },
    close: () => server.close(),
  };
}

// deno-lint-ignore no-explicit-any
async function bodyOf(request: IncomingMessage): Promise<any> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text ? JSON.parse(text) : {};
}

function resultsIn(body: { messages?: { content: unknown }[] }): string[] {
  const blocks = (body.messages ?? []).flatMap(({ content }) =>
    Array.isArray(content) ? content : []
  );
  return blocks.filter(({ type }) => type === "tool_result").map((block) =>
    JSON.stringify(block.content)
  );
}

function listen(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      resolve(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
    });
  });
}
