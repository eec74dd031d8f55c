import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSocketFetch } from "../../../server/runtime/socket_fetch.ts";
import { createTempFolder } from "../../temp_folder.ts";

const JSON_TYPE = { "content-type": "application/json" };
const OK = 'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n"a"';

/** A program on a unix socket that answers the bytes of each request with these, as they come. */
async function listening(answer: (request: string, socket: Socket, asked: number) => void) {
  const path = join(createTempFolder("kept"), "s.sock");
  const sockets = new Set<Socket>();
  let asked = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    const pieces: Buffer[] = [];
    let left: number | null = null;
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      pieces.push(bytes);
      left ??= Number(/content-length: (\d+)/.exec(`${bytes}`)?.[1]) +
        bytes.indexOf("\r\n\r\n") + 4;
      left -= bytes.length;
      if (left > 0) return;
      left = null;
      const whole = Buffer.concat(pieces.splice(0)).toString();
      answer(whole, socket, ++asked);
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { send: createSocketFetch(path), sockets };
}

const post = (body: string, signal?: AbortSignal): RequestInit => ({
  method: "POST",
  headers: JSON_TYPE,
  body,
  signal,
});

test("requests one after the other share a connection, and each gets its own answer", async () => {
  const { send, sockets } = await listening((request, socket, asked) => {
    const text = JSON.stringify({ asked, request });
    const head = `HTTP/1.1 200 OK\r\nX-Asked: ${asked}\r\nContent-Length: ${
      Buffer.byteLength(text)
    }\r\n\r\n`;
    // The head and the body in pieces of any size.
    const bytes = Buffer.from(head + text);
    socket.write(bytes.subarray(0, 20));
    setImmediate(() => socket.write(bytes.subarray(20)));
  });
  for (const asked of [1, 2, 3]) {
    const answer = await send("http://localhost/a?b=c", post(`{"n":"ä${asked}"}`));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-asked")).toBe(`${asked}`);
    const { request } = await answer.json();
    expect(request).toMatch(/^POST \/a\?b=c HTTP\/1\.1\r\n/);
    expect(request).toMatch(/\r\nhost: localhost\r\n/);
    expect(request.endsWith(`\r\n\r\n{"n":"ä${asked}"}`)).toBe(true);
  }
  expect(sockets.size).toBe(1);
});

test("requests at once take a connection each", async () => {
  const { send, sockets } = await listening((_, socket) => socket.write(OK));
  const all = Array.from({ length: 5 }, () => send("http://localhost/", post("{}")));
  for (const answer of await Promise.all(all)) expect(await answer.json()).toBe("a");
  expect(sockets.size).toBe(5);
});

test("a body of some megabytes arrives whole", async () => {
  let length = 0;
  const { send } = await listening((request, socket) => {
    length = request.length;
    socket.write(OK);
  });
  const body = JSON.stringify("x".repeat(8 * 1024 * 1024));
  expect((await send("http://localhost/", post(body))).status).toBe(201);
  expect(length).toBeGreaterThan(body.length);
});

test("a connection that the daemon closed is not used again", async () => {
  const { send, sockets } = await listening((_, socket, asked) => {
    if (asked === 1) socket.end(OK.replace("\r\n", "\r\nConnection: close\r\n"));
    else socket.write(OK);
  });
  for (let n = 0; n < 3; n++) {
    expect((await send("http://localhost/", post("{}"))).status).toBe(201);
  }
  expect(sockets.size).toBe(2);
});

test.each<[string, (socket: Socket) => void]>([
  ["ends before its head", (socket) => socket.end("HTTP/1.1 200 O")],
  ["ends before its body", (socket) => socket.end(OK.slice(0, -1))],
  ["is not HTTP", (socket) => socket.write("hello\r\n\r\n")],
  [
    "has a head without an end",
    (socket) => socket.write(`HTTP/1.1 200 OK\r\n${"x".repeat(70_000)}`),
  ],
  ["tells no length", (socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n{}")],
  ["is followed by more", (socket) => socket.write(`${OK}more`)],
])("an answer that %s is an error, and the next request is answered", async (_what, answer) => {
  const { send } = await listening((_, socket, asked) =>
    asked === 1 ? answer(socket) : void socket.write(OK)
  );
  await expect(send("http://localhost/", post("{}"))).rejects.toThrow();
  expect((await send("http://localhost/", post("{}"))).status).toBe(201);
});

test("a request that is given up is an error, and its connection is not used again", async () => {
  const controller = new AbortController();
  const { send, sockets } = await listening((_, socket, asked) => {
    if (asked === 1) controller.abort(new Error("enough"));
    else socket.write(OK);
  });
  const given = send("http://localhost/", post("{}", controller.signal));
  await expect(given).rejects.toThrow("enough");
  const late = send("http://localhost/", post("{}", controller.signal));
  await expect(late).rejects.toThrow("enough");
  expect((await send("http://localhost/", post("{}"))).status).toBe(201);
  expect(sockets.size).toBe(2);
});

test("nobody who listens is an error with its code", async () => {
  const send = createSocketFetch(join(createTempFolder("kept"), "none.sock"));
  await expect(send("http://localhost/", post("{}"))).rejects.toMatchObject({ code: "ENOENT" });
});
