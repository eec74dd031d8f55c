import { Buffer } from "node:buffer";
import { lookup } from "node:dns/promises";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, isIP, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isListed, parsePlace, type Place } from "../policy/listed_hosts.ts";
import { isPublicAddress } from "./public_address.ts";
import type { AskedHost } from "./schema.ts";

/** Finds the addresses of a name. */
export type Resolve = (host: string) => Promise<string[]>;

export interface ProxyOptions {
  /** The hosts that the policy lists. */
  hosts: readonly string[];
  /** Ports of this machine that stay closed, whatever the list says. */
  closed_ports: readonly number[];
  resolve?: Resolve;
  /** How long a connection may wait for its head, and for its next byte. */
  head_ms?: number;
  idle_ms?: number;
}

const MOST_CONNECTIONS = 128;
const MOST_HEAD_BYTES = 16 * 1024;
const MOST_KEPT = 100;
const HEAD_MS = 10_000;
const IDLE_MS = 10 * 60_000;
const CONNECT_MS = 15_000;

/**
 * A proxy on a socket in a folder of its own, through which a command in a sandbox reaches the listed
 * hosts and nothing else. It finds the addresses itself, and connects to those that it has checked.
 */
export class HostProxy {
  /** The path of the socket. */
  readonly path: string;
  readonly #folder: string;
  readonly #options: Required<ProxyOptions>;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #asked = new Map<string, AskedHost>();

  private constructor(folder: string, options: ProxyOptions) {
    this.#folder = folder;
    this.path = join(folder, "proxy");
    this.#options = { resolve: resolveName, head_ms: HEAD_MS, idle_ms: IDLE_MS, ...options };
    this.#server = createServer({ allowHalfOpen: true }, (client) => void this.#serve(client));
    this.#server.maxConnections = MOST_CONNECTIONS;
  }

  /** Starts to listen. @throws the error of the file system or the socket */
  static async open(options: ProxyOptions): Promise<HostProxy> {
    const folder = mkdtempSync(join(tmpdir(), "gate-net-"));
    const proxy = new HostProxy(folder, options);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject);
      proxy.#server.listen(proxy.path, resolve);
    });
    chmodSync(proxy.path, 0o600);
    return proxy;
  }

  /** The hosts that were asked for so far, the first hundred of them. */
  get asked(): AskedHost[] {
    return [...this.#asked.values()];
  }

  /** Ends every connection and removes the socket. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #serve(client: Socket): Promise<void> {
    this.#keep(client);
    try {
      const { head, rest } = await readHead(client, this.#options.head_ms);
      const order = readOrder(head);
      const address = await this.#allowed(order.place);
      const server = await this.#connect(address, order.place);
      if (client.destroyed) return void server.destroy();
      if (order.isTunnel) {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        server.write(rest);
        joinSockets(client, server);
      } else {
        server.write(order.head);
        sendBody(client, server, { rest, length: order.length });
        server.pipe(client);
      }
    } catch (error) {
      refuse(client, error instanceof Refusal ? error : new Refusal(502, "the connection failed"));
    }
  }

  /** The address to connect to. @throws Refusal if the policy does not open this place */
  async #allowed(place: Place): Promise<string> {
    const { hosts, closed_ports, resolve } = this.#options;
    const no = (why: string, status = 403) => {
      this.#note(place, { answer: status === 403 ? "refused" : "failed", why });
      return new Refusal(status, why);
    };
    const named = `"${place.host}:${place.port}"`;
    if (!isListed(place, hosts)) {
      throw no(`${named} is not among the hosts that the policy opens for commands`);
    }
    const found = isIP(place.host) !== 0 ? [place.host] : await resolve(place.host).catch(() => []);
    if (found.length === 0) throw no(`the name "${place.host}" has no address`, 502);
    // An address of this machine or its network opens only by itself.
    const local = found.filter((address) => !isPublicAddress(address));
    const closed = local.find((address) => !isListed({ host: address, port: place.port }, hosts));
    if (closed !== undefined) {
      throw no(
        `the name "${place.host}" leads to ${closed}, which is not on the public network; ` +
          "the policy must list that address itself",
      );
    }
    if (local.length > 0 && closed_ports.includes(place.port!)) throw no(`${named} is gate itself`);
    return found[0]!;
  }

  async #connect(address: string, place: Place): Promise<Socket> {
    const server = connect({ host: address, port: place.port!, allowHalfOpen: true });
    this.#keep(server);
    const late = setTimeout(() => server.destroy(new Error("it did not answer")), CONNECT_MS);
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("connect", resolve);
        server.once("error", reject);
        server.once("close", () => reject(new Error("it was closed")));
      });
    } catch (error) {
      const why = `"${place.host}:${place.port}" did not answer: ${(error as Error).message}`;
      this.#note(place, { answer: "failed", why });
      throw new Refusal(502, why);
    } finally {
      clearTimeout(late);
    }
    this.#note(place, { answer: "connected", why: null });
    return server;
  }

  #note({ host, port }: Place, said: Pick<AskedHost, "answer" | "why">): void {
    const key = `${host}:${port} ${said.answer}`;
    const known = this.#asked.get(key);
    if (known) known.times++;
    else if (this.#asked.size < MOST_KEPT) {
      this.#asked.set(key, { host, port: port!, times: 1, ...said });
    }
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setTimeout(this.#options.idle_ms, () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

/** An answer that a program of the command can show. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, why: string) {
    super(why);
    this.status = status;
  }
}

async function resolveName(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Reads up to the empty line. @throws Refusal if it is too long, too slow, or not whole */
async function readHead(client: Socket, head_ms: number): Promise<{ head: string; rest: Buffer }> {
  let seen = Buffer.alloc(0);
  const late = setTimeout(() => client.destroy(), head_ms);
  try {
    for (;;) {
      const chunk = await nextChunk(client);
      if (chunk === null) throw new Refusal(400, "the request is not whole");
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf("\r\n\r\n");
      if ((end === -1 ? seen.length : end) > MOST_HEAD_BYTES) {
        throw new Refusal(431, "the head of the request is too long");
      }
      if (end !== -1) {
        return { head: seen.subarray(0, end).toString("latin1"), rest: seen.subarray(end + 4) };
      }
    }
  } finally {
    clearTimeout(late);
  }
}

function nextChunk(socket: Socket): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const done = (chunk: Buffer | null) => {
      socket.off("data", onData).off("end", onEnd).off("close", onEnd);
      socket.pause();
      resolve(chunk);
    };
    const onData = (chunk: Buffer) => done(chunk);
    const onEnd = () => done(null);
    socket.on("data", onData).on("end", onEnd).on("close", onEnd);
    socket.resume();
  });
}

/** One request: a tunnel, or a plain request whose head is written anew. */
type Order =
  & { place: Place & { port: number } }
  & ({ isTunnel: true } | { isTunnel: false; head: string; length: number });

const LINE = /^([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) HTTP\/1\.[01]$/;
const FIELD = /^([!#$%&'*+.^`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;
/** Fields about one connection, and those that tell this proxy something. */
const NOT_PASSED = new Set([
  ...["connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer"],
  ...["transfer-encoding", "upgrade", "host", "content-length", "expect"],
]);

/** @throws Refusal for anything but one plain request, so that both ends read the same */
function readOrder(text: string): Order {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method, target = ""] = LINE.exec(first) ?? [];
  if (method === undefined) throw new Refusal(400, "the request line is malformed");
  const fields = lines.map((line) => {
    const [, name, value = ""] = FIELD.exec(line) ?? [];
    if (name === undefined) throw new Refusal(400, "a field of the head is malformed");
    return { name, key: name.toLowerCase(), value: value.trim() };
  });
  if (method === "CONNECT") {
    const place = parsePlace(target);
    if (!isWhole(place)) throw new Refusal(400, "CONNECT needs a host and a port");
    return { place, isTunnel: true };
  }
  const [, authority, path] = /^http:\/\/([^/?#]+)([^#]*)$/i.exec(target) ?? [];
  if (authority === undefined) {
    throw new Refusal(400, "this is a proxy: it needs a whole http:// address, or CONNECT");
  }
  const place = parsePlace(/:\d+$/.test(authority) ? authority : `${authority}:80`);
  if (!isWhole(place)) throw new Refusal(400, "the address names no host");
  const valuesOf = (key: string) =>
    fields.filter((field) => field.key === key).map((one) => one.value);
  const hosts = valuesOf("host").map((value) =>
    parsePlace(/:\d+$/.test(value) ? value : `${value}:80`)
  );
  if (
    hosts.length > 1 || hosts.some((one) => one?.host !== place.host || one.port !== place.port)
  ) {
    throw new Refusal(400, "the field Host names another host than the address");
  }
  if (valuesOf("transfer-encoding").length > 0) {
    throw new Refusal(411, "a plain request through this proxy must say its length");
  }
  const lengths = valuesOf("content-length");
  if (lengths.length > 1 || lengths.some((length) => !/^\d{1,15}$/.test(length))) {
    throw new Refusal(400, "the length of the request is unclear");
  }
  const named = new Set(
    valuesOf("connection").flatMap((one) => one.toLowerCase().split(/\s*,\s*/)),
  );
  const head = [
    `${method} ${path === "" || path!.startsWith("?") ? `/${path}` : path} HTTP/1.1`,
    `Host: ${authority}`,
    ...fields.filter(({ key }) => !NOT_PASSED.has(key) && !named.has(key))
      .map(({ name, value }) => `${name}: ${value}`),
    ...lengths.map((length) => `Content-Length: ${length}`),
    "Connection: close",
  ];
  const length = Number(lengths[0] ?? 0);
  return { place, isTunnel: false, head: `${head.join("\r\n")}\r\n\r\n`, length };
}

function isWhole(place: Place | null): place is Place & { port: number } {
  return place !== null && place.port !== null && !place.host.startsWith("*");
}

/** Passes on exactly the body that the head announced; what follows it is dropped. */
function sendBody(
  client: Socket,
  server: Socket,
  { rest, length }: { rest: Buffer; length: number },
): void {
  let left = length;
  const send = (chunk: Buffer) => {
    const part = chunk.subarray(0, left);
    left -= part.length;
    if (part.length > 0 && !server.write(part)) {
      client.pause();
      server.once("drain", () => client.resume());
    }
  };
  send(rest);
  client.on("data", send);
  client.on("close", () => server.destroy());
  client.resume();
}

/** Passes the bytes on in both directions, until both ends have ended. */
function joinSockets(one: Socket, other: Socket): void {
  one.pipe(other);
  other.pipe(one);
  one.on("close", () => other.destroy());
  other.on("close", () => one.destroy());
}

function refuse(client: Socket, { status, message }: Refusal): void {
  const text = `gate: ${message}\n`;
  const reasons: Record<number, string> = { 403: "Forbidden", 502: "Bad Gateway" };
  client.end(
    `HTTP/1.1 ${status} ${reasons[status] ?? "Bad Request"}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
  // Unread bytes of the client would reset the answer.
  client.resume();
}
