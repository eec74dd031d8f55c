import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { nextStepOf, ServerDatabase } from "../../../server/db/server_database.ts";

const MIB = 1024 * 1024;

/** A server that answers each request so. */
async function startServer(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(response));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const LIMIT = { most_bytes: 4 * MIB };
const JSON_TYPE = { "content-type": "application/json" };

test("an answer without an end is given up after 4 MiB", async () => {
  let sent = 0;
  const piece = Buffer.alloc(MIB, " ");
  const url = await startServer((response) => {
    response.writeHead(200, JSON_TYPE);
    const more = () => {
      while (!response.destroyed && response.write(piece)) sent += MIB;
    };
    response.on("drain", () => {
      sent += MIB;
      more();
    });
    more();
  });
  await expect(ServerDatabase.open({ url, token: null }, LIMIT)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("answers with more than 4 MiB"),
  });
  expect(sent).toBeLessThan(64 * MIB);
});

test("an answer counts as it is unpacked", async () => {
  const packed = gzipSync(Buffer.alloc(8 * MIB, " "));
  expect(packed.length).toBeLessThan(MIB);
  const url = await startServer((response) => {
    response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" });
    response.end(packed);
  });
  await expect(ServerDatabase.open({ url, token: null }, LIMIT)).rejects.toMatchObject({
    message: expect.stringContaining("answers with more than 4 MiB"),
  });
});

test.each([
  [401, /the server refuses the token/, 'set the variable that "storage.authTokenEnv" names'],
  [503, /the server does not answer \(HTTP 503\)/, "start the server or its network"],
])("a server that answers %i leads to the step that helps", async (status, message, next) => {
  const url = await startServer((response) => response.writeHead(status).end());
  const error = await ServerDatabase.open({ url, token: "old" }).catch((error) => error);
  expect(error).toMatchObject({ code: "unavailable", message: expect.stringMatching(message) });
  expect(nextStepOf(error)).toContain(next);
  expect(nextStepOf(new Error("x"))).toBe(null);
});
