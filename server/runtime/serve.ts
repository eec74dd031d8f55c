import { chmod, mkdir, unlink } from "node:fs/promises";
import {
  createServer,
  type IncomingMessage,
  type Server as NodeServer,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { GateError } from "../errors.ts";
import { REQUEST_LIMITS } from "../constants.ts";
import {
  BodyBudget,
  BodyReader,
  ClientPresence,
  cutOff,
  rejectRest,
  type ResponseLimits,
  writeResponse,
} from "./http_message.ts";

/** One request as it was received: nothing is joined, decoded or rewritten. */
export interface RawRequest {
  method: string;
  /** The request target, untouched. */
  target: string;
  /** Each header line, names in lower case, with duplicates. */
  headers: [name: string, value: string][];
  /** The port that received it; null for the unix socket. */
  port: number | null;
  /** Aborted when the client disconnects or the server stops. */
  signal: AbortSignal;
  /** The whole body. @throws GateError `too_large` as soon as it is longer than `limit` */
  readBody(limit: number): Promise<Uint8Array<ArrayBuffer>>;
}

export interface ServeOptions {
  /** The TCP port on loopback; 0 lets the system choose one. */
  port: number;
  /** A unix socket to listen on too, in its own folder. */
  socket_path: string | null;
  /** Answers each request; when it throws, the connection is closed. */
  handler: (request: RawRequest) => Promise<Response>;
  /** Called when a client connects to the unix socket, before its request is here. */
  connected?: () => void;
  /** The answer to bytes that are no valid request. */
  refuse: (error: GateError) => Response;
  timeouts?: Partial<Timeouts>;
  /** How many bytes of large bodies all requests together may hold. */
  all_bodies_bytes?: number;
}

interface Serving extends ServeOptions {
  timeouts: Timeouts;
  bodies: BodyBudget;
}

export interface Timeouts extends ResponseLimits {
  headers_ms: number;
  request_ms: number;
  check_ms: number;
}

/** A running server. */
export interface Listening {
  readonly port: number;
  readonly socket_path: string | null;
  /** Stops listening, waits `grace_ms` for running requests, then closes their connections. */
  close(grace_ms?: number): Promise<void>;
}

/** Another program listens on the port. */
export class PortTakenError extends Error {
  readonly port: number;

  constructor(port: number, cause: unknown) {
    super(`Cannot listen on port ${port}: another program uses it`, { cause });
    this.name = "PortTakenError";
    this.port = port;
  }
}

const TIMEOUTS: Timeouts = {
  headers_ms: REQUEST_LIMITS.headers_timeout_ms,
  request_ms: REQUEST_LIMITS.request_timeout_ms,
  check_ms: 1_000,
  write_ms: REQUEST_LIMITS.write_timeout_ms,
  drain_bytes: REQUEST_LIMITS.drain_bytes,
};

/** Listens on loopback, 127.0.0.1 and ::1, and on the unix socket. @throws PortTakenError */
export async function serve(options: ServeOptions): Promise<Listening> {
  const serving: Serving = {
    ...options,
    timeouts: { ...TIMEOUTS, ...options.timeouts },
    bodies: new BodyBudget(options.all_bodies_bytes ?? REQUEST_LIMITS.all_bodies_bytes),
  };
  const servers: NodeServer[] = [];
  const close = async (grace_ms: number) => {
    await Promise.all(servers.map((server) => closeServer(server, grace_ms)));
  };
  try {
    const port = await openDoors(serving, servers);
    return { port, socket_path: options.socket_path, close: (grace_ms = 2_000) => close(grace_ms) };
  } catch (error) {
    await close(0);
    // The chosen port is free on 127.0.0.1 but not on ::1: try another one.
    if (options.port === 0 && error instanceof PortTakenError) return await serve(options);
    throw error;
  }
}

async function openDoors(serving: Serving, servers: NodeServer[]): Promise<number> {
  const open = async (port: () => number | null, listen: (server: NodeServer) => Promise<void>) => {
    const server = createListener(serving, port);
    await listen(server);
    servers.push(server);
    return server;
  };
  let port = serving.port;
  const first = await open(() => port, (server) => listenOnPort(server, port, "127.0.0.1"));
  port = (first.address() as AddressInfo).port;
  // A browser tries ::1 first for "localhost", so no other program may listen there.
  await open(() => port, (server) => listenOnPort(server, port, "::1")).catch(ignoreNoIpv6);
  if (serving.socket_path) {
    const server = await open(() => null, (one) => listenOnSocket(one, serving.socket_path!));
    server.on("connection", () => serving.connected?.());
  }
  return port;
}

function ignoreNoIpv6(error: Error & { code?: string }): void {
  if (error.code !== "EADDRNOTAVAIL" && error.code !== "EAFNOSUPPORT") throw error;
}

function createListener(serving: Serving, port: () => number | null) {
  const { timeouts } = serving;
  const server = createServer({
    maxHeaderSize: REQUEST_LIMITS.header_bytes,
    headersTimeout: timeouts.headers_ms,
    requestTimeout: timeouts.request_ms,
    connectionsCheckingInterval: timeouts.check_ms,
    // Long, because a client that reuses a connection while it is being closed sees a reset.
    keepAliveTimeout: 65_000,
    requireHostHeader: false,
    noDelay: true,
  });
  // No limit here: Node would drop further lines silently, and the guard counts them itself.
  server.maxHeadersCount = 0;
  server.maxConnections = REQUEST_LIMITS.connections;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    void handle(request, response, serving, port());
  };
  server.on("request", answer);
  server.on("checkContinue", answer);
  server.on("checkExpectation", answer);
  server.on("clientError", (error, socket) => {
    refuse(socket as Socket, toGateError(error), serving.refuse);
  });
  const refuseSwitch = (request: IncomingMessage, socket: Socket) => {
    const code = request.method === "CONNECT" ? "method_not_allowed" : "invalid";
    refuse(
      socket,
      new GateError(code, "Cannot switch protocols: the gate speaks HTTP/1.1 only"),
      serving.refuse,
    );
  };
  server.on("upgrade", refuseSwitch);
  server.on("connect", refuseSwitch);
  return server;
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  { handler, timeouts, bodies }: Serving,
  port: number | null,
): Promise<void> {
  const client = new ClientPresence(request, response);
  const body = new BodyReader(request, response, bodies);
  const raw: RawRequest = {
    method: request.method ?? "",
    target: request.url ?? "",
    headers: headerLines(request.rawHeaders),
    port,
    get signal() {
      return client.signal;
    },
    readBody: (limit) => body.read(limit),
  };
  try {
    const answer = await handler(raw);
    await rejectRest(request, response, timeouts);
    await writeResponse(response, answer, raw, timeouts);
  } catch {
    cutOff(response);
  } finally {
    body.release();
  }
}

function headerLines(raw: string[]): [string, string][] {
  const lines: [string, string][] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) lines.push([raw[i]!.toLowerCase(), raw[i + 1]!]);
  return lines;
}

const refused = new WeakSet<Socket>();

/** Answers once per socket: the parser reports an error again for each further packet. */
function refuse(socket: Socket, error: GateError, answerOf: ServeOptions["refuse"]): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  if (!socket.writable) return void socket.destroy();
  socket.on("error", () => socket.destroy());
  const answer = answerOf(error);
  const lines = [...answer.headers].map(([name, value]) => `${name}: ${value}\r\n`).join("");
  answer.text().then((text) => {
    const length = Buffer.byteLength(text);
    socket.end(
      `HTTP/1.1 ${answer.status} Refused\r\n${lines}content-length: ${length}\r\n` +
        `connection: close\r\n\r\n${text}`,
    );
  });
  // Closing while bytes still arrive would reset the connection before the client reads the answer.
  setTimeout(() => socket.destroy(), 500).unref();
}

function toGateError(error: Error & { code?: string }): GateError {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new GateError(
      "timeout",
      "Cannot read the request: it was not complete in time; send it again",
    );
  }
  if (error.code === "HPE_HEADER_OVERFLOW") {
    return new GateError(
      "headers_too_large",
      "Cannot read the request: its headers are over 16 KB; send shorter headers",
    );
  }
  return new GateError("invalid", "Cannot read the request: it is not well-formed HTTP/1.1");
}

function listenOnPort(server: NodeServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: Error & { code?: string }) => {
      reject(error.code === "EADDRINUSE" ? new PortTakenError(port, error) : error);
    });
    server.listen({ port, host, backlog: 1024 }, resolve);
  });
}

async function listenOnSocket(server: NodeServer, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await chmod(dirname(path), 0o700);
  if (await isLive(path)) {
    throw new GateError("conflict", `Cannot listen on "${path}": another daemon uses this home`);
  }
  await unlink(path).catch(() => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, backlog: 1024 }, resolve);
  });
  await chmod(path, 0o600);
}

function isLive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

function closeServer(server: NodeServer, grace_ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), grace_ms);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
