import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { ScriptedCall, ScriptedModel } from "./scripted_model.ts";

type Json = Record<string, unknown>;

/** The protocol between a host and its model. */
interface Protocol {
  /** Reads the results of the calls so far from a request. */
  resultsIn: (body: Json) => unknown[];
  /** Returns the events for the next call, or for the end of the session. */
  eventsFor: (call: ScriptedCall | undefined, nth: number) => Json[];
  /** True if the events have names. */
  is_named: boolean;
}

export type ModelProtocol = "responses" | "gemini" | "chat";

/** Starts a model that makes the same calls every time. */
export async function startOtherModel(
  protocol: ModelProtocol,
  calls: ScriptedCall[],
): Promise<ScriptedModel> {
  const { resultsIn, eventsFor, is_named } = PROTOCOLS[protocol];
  const results: string[] = [];
  let turns = 0;
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const isTurn = Array.isArray(body.tools) && body.tools.length > 0;
    if (isTurn) turns++;
    const received = resultsIn(body).map((one) => JSON.stringify(one));
    if (received.length > results.length) results.splice(0, results.length, ...received);
    const events = eventsFor(isTurn ? calls[received.length] : undefined, received.length);
    if (!/responses|stream|completions/i.test(request.url ?? "")) {
      response.setHeader("content-type", "application/json");
      return response.end(JSON.stringify({ ...events[0], totalTokens: 1, data: [] }));
    }
    response.setHeader("content-type", "text/event-stream");
    response.end(
      events.map((one) =>
        `${is_named ? `event: ${one.type}\n` : ""}data: ${JSON.stringify(one)}\n\n`
      ).join("") + (protocol === "chat" ? "data: [DONE]\n\n" : ""),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    ...{ url, results, tools: new Set<string>() },
    get turns() {
      return turns;
    },
    close: () => void server.close(),
  };
}

const PROTOCOLS: Record<ModelProtocol, Protocol> = {
  responses: {
    is_named: true,
    resultsIn: ({ input }) => listOf(input).filter(({ type }) => type === "function_call_output"),
    eventsFor: (call, nth) => {
      const id = `resp_${nth}`;
      const content = [{ type: "output_text", text: "All done.", annotations: [] }];
      const item = call
        ? {
          type: "function_call",
          id: `fc_${nth}`,
          call_id: `call_${nth}`,
          name: call.name,
          arguments: JSON.stringify(call.input),
          status: "completed",
        }
        : { type: "message", id: `m_${nth}`, role: "assistant", status: "completed", content };
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      return [
        { type: "response.created", response: { id } },
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: { id, usage } },
      ];
    },
  },
  gemini: {
    is_named: false,
    resultsIn: ({ contents }) =>
      listOf(contents).flatMap(({ parts }) => listOf(parts)).filter((part) =>
        part.functionResponse !== undefined
      ),
    eventsFor: (call) => {
      const part = call
        ? { functionCall: { name: call.name, args: call.input } }
        : { text: "All done." };
      const content = { role: "model", parts: [part] };
      const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
      return [{ candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata }];
    },
  },
  chat: {
    is_named: false,
    resultsIn: ({ messages }) => listOf(messages).filter(({ role }) => role === "tool"),
    eventsFor: (call, nth) => {
      const made = call && { name: call.name, arguments: JSON.stringify(call.input) };
      const tool_calls = [{ index: 0, id: `call_${nth}`, type: "function", function: made }];
      const delta = call
        ? { role: "assistant", content: null, tool_calls }
        : { role: "assistant", content: "All done." };
      const chunk = {
        id: `c_${nth}`,
        object: "chat.completion.chunk",
        created: 1,
        model: "mock-1",
      };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      const finish_reason = call ? "tool_calls" : "stop";
      return [
        { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }], usage },
      ];
    },
  },
};

function listOf(value: unknown): Json[] {
  return Array.isArray(value) ? value as Json[] : [];
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text ? JSON.parse(text) : {};
}
