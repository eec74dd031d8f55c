import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createSocketFetch } from "../../../server/runtime/socket_fetch.ts";

/** A server that answers like this, and its address. */
async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers what it was asked. */
const echo: RequestListener = (request, response) => {
  const pieces: Uint8Array[] = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const { method, url, headers } = request;
    const { "content-type": type, "content-length": length } = headers;
    const body = Buffer.concat(pieces).toString();
    const text = JSON.stringify({ method, url, type, length, body });
    const bytes = Buffer.byteLength(text);
    response.writeHead(201, { "content-type": "application/json", "content-length": bytes });
    response.end(text);
  });
};

const TEXT = "text/plain;charset=UTF-8";
const JSON_TYPE = { "content-type": "application/json" };

test.each<[string, RequestInit, Record<string, string>]>([
  ["a question", {}, { method: "GET", body: "" }],
  ["a method in lower case", { method: "delete" }, { method: "DELETE", body: "" }],
  ["a JSON text", { method: "POST", body: '{"a":"ä"}', headers: JSON_TYPE }, {
    method: "POST",
    type: "application/json",
    length: "10",
    body: '{"a":"ä"}',
  }],
  ["a text of no type", { method: "POST", body: "ab" }, {
    ...!("Bun" in globalThis) && { type: TEXT }, // Bun sends none
    length: "2",
    body: "ab",
  }],
  ["bytes", { method: "PUT", body: new Uint8Array([104, 105]) }, { length: "2", body: "hi" }],
  ["half of a surrogate", { method: "POST", body: "\ud800", headers: JSON_TYPE }, {
    length: "3",
    body: "\ufffd",
  }],
])("it sends %s as fetch does", async (_what, init, expected) => {
  const url = `${await serving(echo)}/a?b=c`;
  for (const given of [createSocketFetch(null)(url, init), fetch(url, init)]) {
    const response = await given;
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ url: "/a?b=c", ...expected });
  }
});

test("a request that was made already is sent as it is", async () => {
  const request = new Request(`${await serving(echo)}/x`, { method: "POST", body: "ab" });
  const answer = await (await createSocketFetch(null)(request)).json();
  expect(answer).toMatchObject({ method: "POST", url: "/x", body: "ab" });
});

test("a stream is handed on before it has ended", async () => {
  const url = await serving((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n");
  });
  const response = await createSocketFetch(null)(url);
  const { value } = await response.body!.getReader().read();
  expect(new TextDecoder().decode(value)).toBe("data: 1\n\n");
});

test.each([
  ["whose length was told", { "content-length": "100" }],
  ["that came in pieces", {}],
])("an answer %s and that was cut short is an error", async (_what, headers) => {
  const url = await serving((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", ...headers });
    response.write('{"a":', () => response.destroy());
  });
  const reading = createSocketFetch(null)(url).then((response) => response.json());
  await expect(reading).rejects.toThrow();
});

test("what is given up is an error", async () => {
  const url = await serving(() => {});
  const given = createSocketFetch(null)(url, { signal: AbortSignal.timeout(20) });
  await expect(given).rejects.toThrow();
});
