import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { connect, createServer, type Server } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { HostProxy, type ProxyOptions } from "../../../server/sandbox/proxy.ts";
import { isPublicAddress } from "../../../server/sandbox/public_address.ts";
import { isListed, parsePlace } from "../../../server/policy/listed_hosts.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function listening(server: Server | HttpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(server);
  return (server.address() as { port: number }).port;
}

/** A server that answers with what it received, and counts its requests. */
async function echo() {
  const seen: string[] = [];
  const server = createHttp((request, answer) => {
    let body = "";
    request.on("data", (chunk) => body += chunk);
    request.on("end", () => {
      seen.push(`${request.method} ${request.url} ${request.headers.host} ${body}`);
      if (request.url === "/away") answer.writeHead(302, { location: "http://evil.test/x" });
      answer.end(`${JSON.stringify(request.headers)}|${body}`);
    });
  });
  return { port: await listening(server), seen };
}

async function proxied(options: Partial<ProxyOptions> & { hosts: readonly string[] }) {
  const resolved: string[] = [];
  const proxy = await HostProxy.open({
    closed_ports: [47_000],
    resolve: (host) => {
      resolved.push(host);
      const to: Record<string, string[]> = {
        "good.test": ["127.0.0.1"],
        "mixed.test": ["93.184.215.14", "127.0.0.1"],
        "inside.test": ["10.0.0.7"],
        "meta.test": ["169.254.169.254"],
        "mapped.test": ["::ffff:127.0.0.1"],
        "none.test": [],
      };
      return Promise.resolve(to[host] ?? []);
    },
    ...options,
  });
  open.push(proxy);
  /** Sends these bytes and returns everything until the connection ends. */
  const send = (...parts: (string | Uint8Array)[]) =>
    new Promise<string>((resolve) => {
      const socket = connect(proxy.path);
      let text = "";
      socket.on("data", (chunk) => text += chunk.toString("latin1"));
      socket.on("error", () => resolve(text));
      socket.on("close", () => resolve(text));
      for (const part of parts) socket.write(part);
    });
  const get = (url: string, host = new URL(url).host, more = "") =>
    send(`GET ${url} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
  return { proxy, send, get, resolved };
}

describe("the way to a listed host", () => {
  test("a plain request is written anew and arrives once", async () => {
    const { port, seen } = await echo();
    const { get, proxy } = await proxied({ hosts: [`good.test:${port}`, `127.0.0.1:${port}`] });
    const text = await get(
      `http://good.test:${port}/a?b=1`,
      `good.test:${port}`,
      "Proxy-Authorization: x\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\nX-Own: 2\r\n",
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(text).toContain('"x-own":"2"');
    expect(text).not.toMatch(/x-hop|proxy-auth/);
    expect(seen).toEqual([`GET /a?b=1 good.test:${port} `]);
    expect(proxy.asked).toEqual([
      { host: "good.test", port, times: 1, answer: "connected", why: null },
    ]);
  });

  test("a tunnel passes bytes on in both directions", async () => {
    const port = await listening(
      createServer((socket) => socket.on("data", (chunk) => socket.end(`<${chunk}>`))),
    );
    const { send } = await proxied({ hosts: ["*.test:" + port, `127.0.0.1:${port}`] });
    expect(await send(`CONNECT good.test:${port} HTTP/1.1\r\n\r\nhello`))
      .toBe("HTTP/1.1 200 Connection established\r\n\r\n<hello>");
  });

  test("a redirect reaches the client, and its new host is judged like any other", async () => {
    const { port } = await echo();
    const { get } = await proxied({ hosts: [`good.test:${port}`, `127.0.0.1:${port}`] });
    expect(await get(`http://good.test:${port}/away`)).toContain("location: http://evil.test/x");
    expect(await get("http://evil.test/x")).toMatch(
      /^HTTP\/1\.1 403 [^]*"evil.test:80" is not among/,
    );
  });
});

describe("what stays closed", () => {
  const CLOSED: [name: string, target: string, hosts: string[], answer: RegExp][] = [
    ["another name", "evil.test:443", ["good.test"], /403[^]*not among the hosts/],
    ["a name around it", "good.test.evil.test:443", ["good.test"], /403/],
    ["a name below it", "a.good.test:443", ["good.test"], /403/],
    ["the name of a wildcard itself", "good.test:443", ["*.good.test"], /403/],
    ["another port", "good.test:22", ["good.test"], /403/],
    ["a usual port beside a listed one", "good.test:443", ["good.test:8443"], /403/],
    ["a raw address", "93.184.215.14:443", ["good.test"], /403/],
    ["an address as a number", "2130706433:80", ["good.test"], /403/],
    ["an address in hexadecimal", "0x7f.0.0.1:80", ["good.test"], /403/],
    ["a short address", "127.1:80", ["127.0.0.1"], /403/],
    ["the loopback", "127.0.0.1:80", ["good.test"], /403/],
    ["the loopback by IPv6", "[::1]:80", ["good.test"], /403/],
    ["a mapped address", "[::ffff:127.0.0.1]:80", ["127.0.0.1"], /403/],
    [
      "a listed name of this machine",
      "good.test:443",
      ["good.test"],
      /403[^]*127\.0\.0\.1, which is not/,
    ],
    ["a listed name of the own network", "inside.test:80", ["inside.test"], /403[^]*10\.0\.0\.7/],
    ["a listed name of a cloud's keys", "meta.test:80", ["meta.test"], /403[^]*169\.254/],
    ["a name with one closed address", "mixed.test:80", ["mixed.test"], /403[^]*127\.0\.0\.1/],
    ["a name with a mapped address", "mapped.test:80", ["mapped.test"], /403/],
    [
      "the daemon, though it is listed",
      "127.0.0.1:47000",
      ["127.0.0.1:47000"],
      /403[^]*gate itself/,
    ],
    [
      "the daemon by a name",
      "good.test:47000",
      ["good.test:47000", "127.0.0.1:47000"],
      /403[^]*gate/,
    ],
    ["a star", "evil.test:80", ["*", "*.", "**", "."], /403/],
    ["a name without an address", "none.test:80", ["none.test"], /502/],
    ["no port", "good.test", ["good.test"], /400/],
    ["port 0", "good.test:0", ["good.test"], /400/],
    ["a port beyond the last", "good.test:65616", ["good.test:80"], /400/],
    ["a name with a zero byte", "good.test\0.evil:80", ["good.test"], /400/],
    ["a person in the address", "good.test:80@evil.test:80", ["good.test"], /400/],
    ["a wildcard as a name", "*.good.test:80", ["*.good.test"], /400/],
  ];

  test.each(CLOSED)("%s", async (_name, target, hosts, answer) => {
    const { send, proxy } = await proxied({ hosts });
    expect(await send(`CONNECT ${target} HTTP/1.1\r\nHost: good.test\r\n\r\n`)).toMatch(answer);
    expect(proxy.asked.every((one) => one.answer !== "connected")).toBe(true);
  });

  test("a refusal says in words what is closed, and is recorded", async () => {
    const { send, proxy } = await proxied({ hosts: ["good.test"] });
    const ask = "CONNECT evil.test:443 HTTP/1.1\r\n\r\n";
    const text = await send(ask);
    await send(ask);
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(text).toMatch(
      /\r\n\r\ngate: "evil\.test:443" is not among the hosts that the policy opens/,
    );
    expect(proxy.asked).toMatchObject([
      { host: "evil.test", port: 443, times: 2, answer: "refused" },
    ]);
  });

  test("a name that changes its address is reached at the checked one, asked for once", async () => {
    const { port, seen } = await echo();
    let asked = 0;
    const { get } = await proxied({
      hosts: [`good.test:${port}`, `127.0.0.1:${port}`],
      resolve: () => Promise.resolve(++asked === 1 ? ["127.0.0.1"] : ["127.0.0.9"]),
    });
    expect(await get(`http://good.test:${port}/`)).toMatch(/^HTTP\/1\.1 200/);
    expect([asked, seen.length]).toEqual([1, 1]);
    expect(await get(`http://good.test:${port}/`)).toMatch(/403[^]*127\.0\.0\.9/);
    expect(seen.length).toBe(1);
  });
});

describe("requests that two programs could read differently", () => {
  const head = (port: number, more: string, line = `POST http://good.test:${port}/ HTTP/1.1`) =>
    `${line}\r\nHost: good.test:${port}\r\n${more}\r\n`;
  const SMUGGLED: [name: string, (port: number) => string, answer: RegExp][] = [
    [
      "another Host",
      (port) => `GET http://good.test:${port}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n`,
      /400/,
    ],
    ["two Hosts", (port) => head(port, "Host: evil.test\r\n"), /400/],
    [
      "two lengths",
      (port) => head(port, "Content-Length: 1\r\nContent-Length: 2\r\n") + "ab",
      /400/,
    ],
    ["a length with a sign", (port) => head(port, "Content-Length: +1\r\n") + "a", /400/],
    [
      "a length and chunks",
      (port) => head(port, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n",
      /411/,
    ],
    ["a folded field", (port) => head(port, "X-A: b\r\n c: d\r\n"), /400/],
    ["a space before the colon", (port) => head(port, "Host : evil.test\r\n"), /400/],
    ["a bare line feed", (port) => head(port, "X-A: b\nHost: evil.test\r\n"), /400/],
    ["a bare carriage return", (port) => head(port, "X-A: b\rHost: evil.test\r\n"), /400/],
    ["a path without a host", (port) => head(port, "", "GET / HTTP/1.1"), /400/],
    ["another protocol", (port) => head(port, "", "GET ftp://good.test/ HTTP/1.1"), /400/],
    [
      "a person in the address",
      (port) => head(port, "", `GET http://a@good.test:${port}/ HTTP/1.1`),
      /400/,
    ],
    [
      "a backslash in the address",
      (port) => head(port, "", `GET http://evil.test\\@good.test:${port}/ HTTP/1.1`),
      /400/,
    ],
    [
      "a line of three hosts",
      (port) => head(port, "", "GET http://good.test/ http://evil.test/ HTTP/1.1"),
      /400/,
    ],
    ["no protocol", (port) => head(port, "", `GET http://good.test:${port}/`), /400/],
  ];

  test.each(SMUGGLED)("%s", async (_name, text, answer) => {
    const { port, seen } = await echo();
    const { send } = await proxied({ hosts: [`good.test:${port}`, `127.0.0.1:${port}`] });
    expect(await send(text(port))).toMatch(answer);
    expect(seen).toEqual([]);
  });

  test("a second request behind the first is dropped", async () => {
    const { port, seen } = await echo();
    const { send } = await proxied({ hosts: [`good.test:${port}`, `127.0.0.1:${port}`] });
    const second = "GET /admin HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    await send(head(port, "Content-Length: 2\r\n") + "ab" + second, second);
    await send(head(port, "", `GET http://good.test:${port}/ HTTP/1.1`) + second);
    expect(seen).toEqual([`POST / good.test:${port} ab`, `GET / good.test:${port} `]);
  });
});

describe("a command that asks for too much", () => {
  test("a head that never ends", async () => {
    const { send } = await proxied({ hosts: ["good.test"] });
    const long = `GET http://good.test/ HTTP/1.1\r\nX: ${"a".repeat(40_000)}`;
    expect(await send(long)).toMatch(/^HTTP\/1\.1 431/);
  });

  test("a head that does not come", async () => {
    const { send } = await proxied({ hosts: ["good.test"], head_ms: 50 });
    expect(await send("GET http://go")).toBe("");
  });

  test("many connections, and many hosts", async () => {
    const { send, proxy } = await proxied({ hosts: ["good.test"], head_ms: 3_000 });
    const waiting = Array.from({ length: 400 }, () => send("GET "));
    await Promise.all(waiting);
    for (let at = 0; at < 130; at++) await send(`CONNECT h${at}.test:443 HTTP/1.1\r\n\r\n`);
    expect(proxy.asked.length).toBe(100);
    expect(await send("CONNECT evil.test:443 HTTP/1.1\r\n\r\n")).toMatch(/403/);
  });

  test("a large body arrives whole", async () => {
    const { port } = await echo();
    const { send } = await proxied({ hosts: [`good.test:${port}`, `127.0.0.1:${port}`] });
    const body = "x".repeat(3_000_000);
    const text = await send(
      `POST http://good.test:${port}/ HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n`,
      body,
    );
    expect(text.length).toBeGreaterThan(body.length);
  });
});

test.each<[address: string, isPublic: boolean]>([
  ["93.184.215.14", true],
  ["2606:4700::1111", true],
  ...[
    ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.53", "169.254.169.254", "172.31.0.1"],
    ...["192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1"],
    ...["fd00::1", "::ffff:8.8.8.8", "64:ff9b::a00:1", "2002:7f00:1::", "2001:0:1::", "ff02::1"],
    ...["name", ""],
  ].map((one): [string, boolean] => [one, false]),
])("%s is public: %s", (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});

test.each([
  ["Good.Test.", "good.test", null],
  ["good.test:8080", "good.test", 8080],
  ["[2606:4700::1]:443", "2606:4700::1", 443],
  ["2606:4700::1", "2606:4700::1", null],
])("%s is read as a place", (text, host, port) => {
  expect(parsePlace(text)).toEqual({ host, port });
});

test("a list names hosts and ports", () => {
  expect(isListed({ host: "a.test", port: null }, ["a.test:8080"])).toBe(true);
  expect(isListed({ host: "a.test", port: 80 }, ["A.test."])).toBe(true);
  expect(isListed({ host: "x.y.a.test", port: 443 }, ["*.a.test"])).toBe(true);
  expect(isListed({ host: "xa.test", port: 443 }, ["*.a.test", "a.test"])).toBe(false);
});
