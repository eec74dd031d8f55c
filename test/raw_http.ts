import { connect, type Socket } from "node:net";

/** The answer over a raw socket. */
export interface RawAnswer {
  /** 0 when the connection ended without an answer. */
  status: number;
  headers: Record<string, string>;
  body: string;
  /** How long until the connection ended. */
  ms: number;
}

export interface RawOptions {
  /** Cuts the connection after so long and reports what came until then. */
  hold_ms?: number;
  socket_path?: string;
  /** 127.0.0.1 unless said. */
  host?: string;
}

/** The bytes to send: at once, or piece by piece as fast as they are taken. */
export type Pieces = string | Uint8Array | Iterable<string | Uint8Array>;

/** Sends bytes as they are on a connection of their own and reads until it ends. */
export function sendRaw(
  port: number,
  pieces: Pieces,
  options: RawOptions = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const started = performance.now();
    const chunks: Uint8Array[] = [];
    const { socket_path, host = "127.0.0.1" } = options;
    const socket = socket_path ? connect(socket_path) : connect(port, host);
    const cut = setTimeout(() => socket.destroy(), options.hold_ms ?? 20_000);
    socket.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(cut);
      resolve({ ...parseAnswer(chunks), ms: performance.now() - started });
    });
    const whole = typeof pieces === "string" || pieces instanceof Uint8Array;
    void writeAll(socket, whole ? [pieces] : pieces);
  });
}

async function writeAll(socket: Socket, pieces: Iterable<string | Uint8Array>): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    if (socket.write(piece)) continue;
    await new Promise<void>((resolve) => {
      const go = () => {
        socket.off("drain", go).off("close", go);
        resolve();
      };
      socket.on("drain", go).on("close", go);
    });
  }
}

/** The text of a plain request with `Connection: close`. */
export function requestText(
  method: string,
  target: string,
  headers: [string, string][],
  body = "",
): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const length = body === "" ? "" : `Content-Length: ${new TextEncoder().encode(body).length}\r\n`;
  return `${method} ${target} HTTP/1.1\r\n${lines}${length}Connection: close\r\n\r\n${body}`;
}

function parseAnswer(chunks: Uint8Array[]): Omit<RawAnswer, "ms"> {
  const text = new TextDecoder().decode(Buffer.concat(chunks)).replace(
    /^HTTP\/1\.1 100 Continue\r\n\r\n/,
    "",
  );
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return { status: 0, headers: {}, body: text };
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { status: Number(first.split(" ")[1]), headers, body: text.slice(end + 4) };
}
