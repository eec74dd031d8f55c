import { Buffer } from "node:buffer";
import { setTimeout as sleep } from "node:timers/promises";
import { type HttpRequest, wireHeaders } from "../http.ts";
import { requestPath, type Target } from "../target.ts";
import { openSocket } from "./connect.ts";
import { H2Connection } from "./h2_connection.ts";
import { encodeFrame, FLAG, FRAME, type PeerSettings } from "./h2_frames.ts";
import { encodeHeaders } from "./hpack.ts";
import type { Outcome, Volley } from "./strategy.ts";

const SETTLE_MS = 100;
const DATA_BYTES = 16_384;

/** How long the server may take to answer the HTTP/2 preface. */
const GREETING_MS = 2_000;

/**
 * The single-packet volley. Opens all requests on one HTTP/2 connection and sends everything but
 * their last DATA frames. A PING proves that the server read them. Then one write sends all last
 * frames.
 */
export async function raceOverHttp2(volley: Volley): Promise<Outcome> {
  const { target, asked } = volley;
  if (!target.secure && !asked) {
    return {
      unfit: "nothing negotiates HTTP/2 without TLS (--race-strategy h2 if the target speaks it)",
    };
  }
  const opened = await openSocket(target, { ...volley, protocols: ["h2", "http/1.1"] });
  if (opened instanceof Error) return { unfit: opened.message };
  try {
    const spoken = opened.protocol === "h2" || !target.secure;
    return spoken
      ? await fire(new H2Connection(opened.socket, volley.count), volley)
      : { unfit: "TLS did not agree on HTTP/2" };
  } finally {
    opened.socket.destroy();
  }
}

async function fire(connection: H2Connection, volley: Volley): Promise<Outcome> {
  const { opening, last } = framesOf(volley.target, volley.request, volley.count);
  const settings = await connection.greet(Math.min(GREETING_MS, volley.timeout_ms));
  const unfit = settings === null
    ? "the target does not greet in HTTP/2"
    : reasonAgainst(settings, volley, opening);
  if (unfit) return { unfit };
  connection.write(opening);
  await sleep(SETTLE_MS);
  await connection.ping(volley.timeout_ms);
  const released = performance.now();
  if (!connection.error) connection.write(last);
  const sent_us = Math.round((performance.now() - released) * 1_000);
  await connection.finished(volley.timeout_ms);
  return { shots: connection.shots(released, sent_us) };
}

/** The bytes that one connection carries before the server sends a WINDOW_UPDATE. */
const WINDOW_BYTES = 65_535;
const HEAD_BYTES = 16_384;

/** All requests must fit at the same time, or they would wait for each other. */
function reasonAgainst(settings: PeerSettings, volley: Volley, opening: Buffer[]): string | null {
  const { count, request } = volley;
  const bytes = Buffer.byteLength(request.body ?? "");
  if (settings.streams < count) {
    return `the target takes ${settings.streams} HTTP/2 requests at once, not ${count}`;
  }
  if (count * bytes > WINDOW_BYTES || bytes > settings.window) {
    return "the bodies do not fit into the window of one HTTP/2 connection";
  }
  return opening[0]!.length > HEAD_BYTES ? "the head does not fit into one HTTP/2 frame" : null;
}

function framesOf(target: Target, request: HttpRequest, count: number) {
  const block = encodeHeaders(fieldsOf(target, request));
  const body = Buffer.from(request.body ?? "", "utf8");
  const held = body.subarray(0, Math.max(0, body.length - 1));
  const opening: Buffer[] = [];
  const last: Buffer[] = [];
  for (let n = 0; n < count; n++) {
    const stream = 1 + 2 * n;
    opening.push(
      encodeFrame({ type: FRAME.headers, flags: FLAG.end_headers, stream, payload: block }),
    );
    for (let at = 0; at < held.length; at += DATA_BYTES) {
      const payload = held.subarray(at, at + DATA_BYTES);
      opening.push(encodeFrame({ type: FRAME.data, flags: 0, stream, payload }));
    }
    const payload = body.subarray(held.length);
    last.push(encodeFrame({ type: FRAME.data, flags: FLAG.end_stream, stream, payload }));
  }
  return { opening, last };
}

/** HTTP/2 has no Host, Connection or Transfer-Encoding (RFC 9113, 8.2.2). */
function fieldsOf(target: Target, request: HttpRequest): [string, string][] {
  const headers = Object.entries(wireHeaders(target, request)).map(([name, value]) =>
    [name.toLowerCase(), value.replaceAll(/[\r\n]/g, " ")] as [string, string]
  );
  const authority = headers.find(([name]) => name === "host")?.[1] ?? target.host;
  const none = new Set(["host", "connection", "transfer-encoding", "keep-alive", "upgrade"]);
  return [
    [":method", request.method],
    [":scheme", target.secure ? "https" : "http"],
    [":authority", authority],
    [":path", requestPath(target, request.path)],
    ...headers.filter(([name]) => !none.has(name)),
  ];
}
