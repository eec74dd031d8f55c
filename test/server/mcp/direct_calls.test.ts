import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { answerDirectly, type DirectCall } from "../../../server/mcp/direct_calls.ts";
import { LineTransport } from "../../../server/mcp/line_transport.ts";
import { createSdkServer, ListToolsRequestSchema } from "../../../server/mcp/sdk.ts";
import { until } from "./agent.ts";

type Message = Record<string, unknown>;

/** A server of the SDK whose calls are answered directly; each waits until the test ends it. */
async function open() {
  const input = new PassThrough();
  const output = new PassThrough();
  let said = "";
  output.on("data", (chunk) => said += chunk);
  const server = createSdkServer({ name: "s", title: "s", version: "1" }, "");
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
  server.onerror = () => {};
  const transport = new LineTransport({ input, output, log: () => {} });
  await server.connect(transport);
  const calls: (DirectCall & { end: (result: Message) => void; fail: (error: unknown) => void })[] =
    [];
  answerDirectly(transport, "tools/call", (call) =>
    new Promise((end, fail) => {
      calls.push({ ...call, end, fail });
    }));
  const send = (message: Message) =>
    input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const heard = async (count: number) => {
    await until(() => said.split("\n").length > count, `${count} messages`);
    return said.trim().split("\n").map((line) => JSON.parse(line) as Message);
  };
  const begun = (count: number) => until(() => calls.length === count, `${count} calls`);
  return { input, server, calls, send, heard, begun };
}

const callOf = (id: number | string, params: Message = {}) => ({
  id,
  method: "tools/call",
  params: { name: "t", ...params },
});

test("answers calls in the order in which they end, and leaves the rest to the SDK", async () => {
  const { calls, send, heard, begun } = await open();
  send(callOf(1));
  send(callOf("two"));
  send({ id: 3, method: "tools/list" });
  await begun(2);
  await heard(1);
  calls[1]!.end({ content: ["b"] });
  await heard(2);
  calls[0]!.end({ content: ["a"] });
  expect(await heard(3)).toEqual([
    { jsonrpc: "2.0", id: 3, result: { tools: [] } },
    { jsonrpc: "2.0", id: "two", result: { content: ["b"] } },
    { jsonrpc: "2.0", id: 1, result: { content: ["a"] } },
  ]);
});

test.each([
  ["its own code", Object.assign(new Error("no such tool"), { code: -32602 }), -32602],
  ["the code of an internal error", new Error("no such tool"), -32603],
  ["no code that is a text", Object.assign(new Error("no such tool"), { code: "EIO" }), -32603],
])("a call that fails is answered with %s", async (_, error, code) => {
  const { calls, send, heard, begun } = await open();
  send(callOf(1));
  await begun(1);
  calls[0]!.fail(error);
  expect(await heard(1)).toEqual([
    { jsonrpc: "2.0", id: 1, error: { code, message: "no such tool" } },
  ]);
});

test("a cancelled call hears of it and is not answered; others go on", async () => {
  const { calls, send, heard, begun } = await open();
  send(callOf(1));
  send(callOf(2));
  await begun(2);
  send({ method: "notifications/cancelled", params: { requestId: 1 } });
  await until(() => calls[0]!.signal.aborted, "the first call is cancelled");
  expect(calls[1]!.signal.aborted).toBe(false);
  calls[0]!.notify("notifications/progress", { progressToken: 1, progress: 1 });
  calls[0]!.end({});
  calls[1]!.notify("notifications/progress", { progressToken: 2, progress: 1 });
  calls[1]!.end({});
  expect(await heard(2)).toEqual([
    {
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: 2, progress: 1 },
    },
    { jsonrpc: "2.0", id: 2, result: {} },
  ]);
});

test("a later call with the same id can be cancelled after the first has ended", async () => {
  const { calls, send, heard, begun } = await open();
  send(callOf(1));
  send(callOf(1));
  await begun(2);
  calls[0]!.end({});
  await heard(1);
  send({ method: "notifications/cancelled", params: { requestId: 1 } });
  await until(() => calls[1]!.signal.aborted, "the second call is cancelled");
});

test("the end of the connection cancels what runs", async () => {
  const { calls, send, begun, server } = await open();
  send(callOf(1));
  await begun(1);
  await server.close();
  expect(calls[0]!.signal.aborted).toBe(true);
});

test("metadata of a host reaches the call, and a call for a task is one for the SDK", async () => {
  const { calls, send, heard, begun } = await open();
  send(callOf(1, { _meta: { progressToken: "p", "host/id": { a: [1] } } }));
  await begun(1);
  expect(calls[0]!.request.params).toEqual({
    name: "t",
    _meta: { progressToken: "p", "host/id": { a: [1] } },
  });
  send(callOf(2, { task: { ttl: 1 } }));
  const [answer] = await heard(1);
  expect(answer).toMatchObject({ id: 2, error: {} });
  expect(calls).toHaveLength(1);
});
