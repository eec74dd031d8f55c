import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as SecureAgent, request as httpsRequest } from "node:https";
import { Buffer } from "node:buffer";
import { requestPath, type Target } from "./target.ts";
import { CUT_OFF, lateAnswer, wordsOf } from "./transport_error.ts";

/** One request as a scenario describes it. */
export interface HttpRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** The answer to one request, or why there is none. */
export interface HttpExchange {
  /** The request target as it was sent. */
  sent_path: string;
  status: number | null;
  headers: [string, string][];
  /** The first bytes of the body, as text. */
  body: string;
  body_bytes: number;
  /** Why there is no complete answer; null when there is one. */
  error: string | null;
  duration_ms: number;
}

export interface HttpOptions {
  timeout_ms: number;
  insecure?: boolean;
  /** How much of the body is kept; 64 KiB by default. */
  keep_bytes?: number;
}

/** How much of a body is kept, and how much is read before the socket is closed. */
const KEPT_BYTES = 64 * 1024;
const READ_BYTES = 8 * 1024 * 1024;

/**
 * Sends exactly one request over its own connection: no redirect, no retry, the path byte for
 * byte. Never throws: without a complete answer the exchange has an `error`.
 */
export function sendRequest(
  target: Target,
  given: HttpRequest,
  options: HttpOptions,
): Promise<HttpExchange> {
  const started = performance.now();
  const sent_path = requestPath(target, given.path);
  return new Promise((resolve) => {
    const nothing = { status: null, headers: [], body: "", body_bytes: 0 };
    const answer: HttpExchange = { sent_path, ...nothing, error: null, duration_ms: 0 };
    const finish = (error: string | null) => {
      clearTimeout(timer);
      resolve({ ...answer, error, duration_ms: Math.round(performance.now() - started) });
    };
    const timer = setTimeout(() => {
      finish(lateAnswer(options.timeout_ms));
      request?.destroy();
    }, options.timeout_ms);
    const request = open(target, given, sent_path, options, finish);
    const keep = options.keep_bytes ?? KEPT_BYTES;
    request?.on("response", (message) => collect(message, answer, finish, keep));
    // The bytes after a switch of protocols are not HTTP, so the head is the answer.
    request?.on("upgrade", (message, socket) => {
      socket.destroy();
      takeHead(message, answer);
      finish(null);
    });
    request?.on("error", (error) => {
      const extra = bytesAfterHead(error, given.method, answer.status);
      answer.body_bytes += extra?.length ?? 0;
      answer.body = extra?.toString("utf8", 0, keep) ?? answer.body;
      finish(extra ? null : wordsOf(error, answer.status));
    });
    // As a string it would join the latin1 head, and Node would send both as UTF-8.
    request?.end(given.body === undefined ? undefined : Buffer.from(given.body, "utf8"));
  });
}

function open(
  target: Target,
  given: HttpRequest,
  path: string,
  options: HttpOptions,
  finish: (error: string) => void,
) {
  try {
    const send = target.secure ? httpsRequest : httpRequest;
    return send({
      host: target.hostname,
      port: target.port,
      method: given.method,
      path,
      headers: wireHeaders(target, given),
      setHost: false,
      agent: new (target.secure ? SecureAgent : Agent)({ keepAlive: false }),
      rejectUnauthorized: !options.insecure,
      // A broken answer is a finding, so as much of it as possible is read.
      insecureHTTPParser: true,
    });
  } catch (error) {
    finish(`cannot be sent: ${(error as Error).message}`);
    return null;
  }
}

/** The headers as sent: adds only `Host`, `Content-Length` and `Connection`. */
export function wireHeaders(target: Target, given: HttpRequest): Record<string, string> {
  const names = new Set(Object.keys(given.headers).map((name) => name.toLowerCase()));
  const headers: Record<string, string> = {};
  if (!names.has("host")) headers["Host"] = target.host;
  for (const [name, value] of Object.entries(given.headers)) {
    headers[name] = Buffer.from(value, "utf8").toString("latin1");
  }
  if (given.body !== undefined && !names.has("content-length") && !names.has("transfer-encoding")) {
    headers["Content-Length"] = String(Buffer.byteLength(given.body));
  }
  if (!names.has("connection")) headers["Connection"] = "close";
  return headers;
}

/** The bytes of a request in HTTP/1.1. */
export function serialize(target: Target, request: HttpRequest): Buffer {
  const headers = Object.entries(wireHeaders(target, request));
  const head = [
    `${request.method} ${requestPath(target, request.path)} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value.replaceAll(/[\r\n]/g, " ")}`),
  ].join("\r\n");
  return Buffer.concat([
    Buffer.from(`${head}\r\n\r\n`, "latin1"),
    Buffer.from(request.body ?? "", "utf8"),
  ]);
}

function collect(
  message: IncomingMessage,
  answer: HttpExchange,
  finish: (error: string | null) => void,
  keep: number,
): void {
  takeHead(message, answer);
  if (isEventStream(message.headers["content-type"])) {
    finish(null);
    return void message.destroy();
  }
  const kept: Buffer[] = [];
  let keptBytes = 0;
  const end = (error: string | null) => {
    answer.body = Buffer.concat(kept).toString("utf8");
    finish(error);
  };
  message.on("data", (chunk: Buffer) => {
    answer.body_bytes += chunk.length;
    if (keptBytes < keep) {
      kept.push(chunk.subarray(0, keep - keptBytes));
      keptBytes += kept.at(-1)!.length;
    }
    if (answer.body_bytes <= READ_BYTES) return;
    end(null);
    message.destroy();
  });
  message.on("end", () => end(null));
  message.on("error", (error) => end(wordsOf(error, answer.status)));
  message.on("close", () => end(message.complete ? null : CUT_OFF));
}

/** True for a 2xx. */
export function isSuccess(status: number | null | undefined): boolean {
  return typeof status === "number" && status >= 200 && status < 300;
}

/** True for an answer that ends with its head, whatever its headers say (RFC 9112, 6.3). */
export function hasNoBody(method: string, status: number | null): boolean {
  return method === "HEAD" || status === 101 || status === 204 || status === 304;
}

/** True for a stream of events. It has no end, so its head is the answer. */
export function isEventStream(content_type: string | null = null): boolean {
  return /^text\/event-stream/i.test(content_type ?? "");
}

/** A body where none is allowed reaches the parser as a broken next answer. Returns its bytes. */
function bytesAfterHead(
  { code, rawPacket, bytesParsed }: NodeJS.ErrnoException & {
    rawPacket?: Buffer;
    bytesParsed?: number;
  },
  method: string,
  status: number | null,
): Buffer | null {
  if (status === null || !hasNoBody(method, status) || !code?.startsWith("HPE_")) return null;
  return rawPacket?.subarray(bytesParsed) ?? Buffer.alloc(0);
}

function takeHead(message: IncomingMessage, answer: HttpExchange): void {
  answer.status = message.statusCode ?? null;
  const raw = message.rawHeaders;
  for (let i = 0; i + 1 < raw.length; i += 2) answer.headers.push([raw[i]!, raw[i + 1]!]);
}
