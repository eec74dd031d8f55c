import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The bugs that the shop can have. Without any it is the guarded twin. */
export const BUGS = [
  "idor_read",
  "missing_auth",
  "forged_token",
  "mass_assignment",
  "type_crash",
  "unicode_crash",
  "huge_crash",
  "negative_crash",
  "lost_update",
  "key_ignored",
  "stale_token",
  "use_after_delete",
  "page_overlap",
  "any_method",
  "any_content_type",
  "stack_trace",
  "header_injection",
  "path_traversal",
  "pay_race",
  "duplicate_user",
] as const;
export type Bug = typeof BUGS[number];

/** A parsed request. */
export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: string;
  /** The logged-in user; null for none. */
  user: string | null;
  id: string;
}

/** A handler's response. */
export interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export type Handler = (call: Call, shop: Shop) => Answer | Promise<Answer>;

interface Order {
  owner: string;
  quantity: number;
  version: number;
  paid: boolean;
}

/** The shop's state. */
export class Shop {
  readonly #bugs: ReadonlySet<Bug>;
  readonly tokens = new Map([["token-alice", "alice"], ["token-bob", "bob"]]);
  readonly notes = new Map<string, { owner: string; title: string; text: string }>();
  readonly orders = new Map<string, Order>();
  readonly comments = new Map<string, { owner: string; text: string }>();
  readonly cache = new Map<string, unknown>();
  readonly transfers = new Map<string, Answer>();
  readonly users = new Set<string>(["alice@example.com"]);
  readonly profiles = new Map<string, Record<string, unknown>>();
  readonly products = Array.from({ length: 7 }, (_, n) => ({ id: n + 1, name: `Thing ${n + 1}` }));
  #next = 1;

  constructor(bugs: Iterable<Bug>) {
    this.#bugs = new Set(bugs);
  }

  has(bug: Bug): boolean {
    return this.#bugs.has(bug);
  }

  id(): string {
    return String(this.#next++);
  }
}

/** A refusal that a handler throws. */
export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function refuse(status: number, message: string): never {
  throw new Refused(status, message);
}

/** A route; an `open` one needs no login. */
export interface Route {
  method: string;
  pattern: RegExp;
  open?: boolean;
  handle: Handler;
}

const BODY_BYTES = 200_000;

/** Serves a shop on loopback until the server is closed. */
export async function openShop(bugs: Iterable<Bug>, routes: Route[]): Promise<{
  url: string;
  server: Server;
}> {
  const shop = new Shop(bugs);
  const server = createServer((request, response) => {
    const chunks: string[] = [];
    request.setEncoding("utf8").on("data", (chunk) => chunks.push(chunk)).on("end", () => {
      void serveOne(request, response, chunks.join(""), shop, routes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

async function serveOne(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
  shop: Shop,
  routes: Route[],
): Promise<void> {
  try {
    write(response, await answerTo(request, body, shop, routes));
  } catch (error) {
    const status = error instanceof Refused ? error.status : 500;
    const detail = error instanceof Refused ? error.message : "Internal error";
    const allow = status === 405 ? { Allow: "GET" } : undefined;
    write(response, { status, body: { detail }, headers: allow });
  }
}

async function answerTo(
  request: IncomingMessage,
  body: string,
  shop: Shop,
  routes: Route[],
): Promise<Answer> {
  const method = request.method ?? "GET";
  const [path = "/", query = ""] = (request.url ?? "/").split("?");
  const matching = routes.filter(({ pattern }) => pattern.test(path));
  if (matching.length === 0) refuse(404, "no such page");
  const route = matching.find((one) => one.method === method) ??
    (shop.has("any_method") ? matching.find((one) => one.method === "GET") : undefined);
  const user = userOf(request, shop);
  if (!route) refuse(405, "no such method here");
  if (!route.open && user === null && !(shop.has("missing_auth") && path === "/reports")) {
    return { status: 401, body: { detail: "log in" }, headers: { "WWW-Authenticate": "Bearer" } };
  }
  if (body.length > BODY_BYTES) refuse(413, "too large");
  const id = decoded(route.pattern.exec(path)?.[1] ?? "");
  const call = { method, path, query: new URLSearchParams(query), headers: request.headers };
  return await route.handle({ ...call, body, user, id }, shop);
}

function userOf({ headers, url }: IncomingMessage, shop: Shop): string | null {
  const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
  const known = token === undefined ? null : shop.tokens.get(token) ?? null;
  // The bug: /profile accepts any token.
  const trusting = shop.has("forged_token") && url === "/profile" && token !== undefined;
  return known ?? (trusting ? "alice" : null);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse(400, "the address cannot be read");
  }
}

function write(response: ServerResponse, { status, body, headers = {} }: Answer): void {
  const { "X-Raw": raw, ...others } = headers;
  if (raw !== undefined) {
    // Node refuses such headers, so the response is written to the socket.
    response.socket?.end(`HTTP/1.1 ${status} Found\r\n${raw}\r\nContent-Length: 0\r\n\r\n`);
    return;
  }
  const text = body === undefined ? "" : JSON.stringify(body);
  response.writeHead(status, {
    ...(text ? { "Content-Type": "application/json" } : {}),
    ...others,
  });
  response.end(text);
}
