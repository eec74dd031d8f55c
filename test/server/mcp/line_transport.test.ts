import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { LineTransport } from "../../../server/mcp/line_transport.ts";
import { connectAgent, until } from "./agent.ts";
import { ListRootsRequestSchema } from "./sdk_client.ts";

const PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}\n';

async function open(options: { max_line_bytes?: number; linger_ms?: number } = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const logs: string[] = [];
  const got: unknown[] = [];
  let closed = false;
  let said = "";
  output.on("data", (chunk) => said += chunk);
  const transport = new LineTransport({
    input,
    output,
    log: (line) => logs.push(line),
    ...options,
  });
  transport.onmessage = (message) => got.push(message);
  transport.onclose = () => closed = true;
  await transport.start();
  const answers = () => said.split("\n").filter((line) => line !== "").map((l) => JSON.parse(l));
  return { input, output, logs, got, answers, transport, isClosed: () => closed };
}

test.each([
  ["no JSON", "nonsense\n", []],
  ["cut off", '{"jsonrpc":"2.0","id":3,"method":"to\n', [{ id: 3, code: -32700 }]],
  ["not JSON-RPC", '{"id":"a-1","method":"ping"}\n', [{ id: "a-1", code: -32600 }]],
  ["an id at its end", '{"method":5,"jsonrpc":"2.0","id":9}\n', [{ id: 9, code: -32600 }]],
  ["a list", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', []],
  ["empty lines", "\n\r\n  \n", []],
  ["a null byte", "\0\n", []],
  ["bytes that are no text", Buffer.from([0xff, 0xfe, 0x0a]), []],
  ["null", "null\n", []],
])("a line of %s is answered if its id can be told, and the next one is heard", async (
  _,
  line,
  expected,
) => {
  const { input, got, answers } = await open();
  input.write(line);
  input.write(PING);
  await until(() => got.length === 1, "the next line is heard");
  expect(got[0]).toMatchObject({ id: 7, method: "ping" });
  const said = answers().map(({ id, error }) => ({ id, code: error.code }));
  expect(said).toEqual(expected);
});

test("a line that is too long is refused by its id, and the next one is heard", async () => {
  const { input, got, answers, logs } = await open({ max_line_bytes: 5_000 });
  input.write('{"method":"tools/call","params":{"x":"');
  for (let i = 0; i < 100; i++) input.write("x".repeat(1_000));
  input.write('"},"jsonrpc":"2.0","id":12}\n' + PING);
  await until(() => got.length === 1, "the next line is heard");
  expect(answers()).toMatchObject([{ id: 12, error: { code: -32600 } }]);
  expect(logs[0]!.length).toBeLessThan(300);
});

test("a message may come in any pieces, also within a letter", async () => {
  const { input, got } = await open();
  const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"äß€😀"}}\r\n');
  for (const byte of bytes) input.write(Buffer.from([byte]));
  await until(() => got.length === 1, "it is heard");
  expect(got[0]).toMatchObject({ params: { x: "äß€😀" } });
});

test("after the end of the input what was asked is still answered", async () => {
  const { input, got, answers, transport, isClosed } = await open();
  input.end(PING);
  await until(() => got.length === 1, "it is heard");
  expect(isClosed()).toBe(false);
  await transport.send({ jsonrpc: "2.0", id: 7, result: {} });
  expect(isClosed()).toBe(true);
  expect(answers()).toEqual([{ jsonrpc: "2.0", id: 7, result: {} }]);
});

test("after the end of the input nobody waits long for what is held", async () => {
  const { input, isClosed } = await open({ linger_ms: 20 });
  input.end(PING);
  await until(isClosed, "it is closed");
});

test("an output that nobody reads any more ends the connection", async () => {
  const { output, isClosed } = await open();
  output.destroy(new Error("EPIPE"));
  await until(isClosed, "it is closed");
});

test("what comes before initialize and is not known is answered, not fatal", async () => {
  const agent = await connectAgent();
  const probe = agent.client.request(
    { method: "server/discover" } as never,
    ListRootsRequestSchema as never,
  );
  await expect(probe).rejects.toMatchObject({ code: -32601 });
  expect((await agent.call("project_info")).body.project).toBe("p1");
  await agent.close();
});
