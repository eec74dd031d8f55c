import type { WireAnswer, WireRequest } from "./wire_request.ts";

/** A request as it goes over the wire; its answer ends with the connection. */
export function requestBytes({ method, target, token, body }: WireRequest): Uint8Array {
  const bytes = new TextEncoder();
  const content = bytes.encode(body ?? "");
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${token}`,
    "Connection: close",
  ];
  if (body !== undefined) {
    lines.push("Content-Type: application/json", `Content-Length: ${content.length}`);
  }
  return Buffer.concat([bytes.encode(`${lines.join("\r\n")}\r\n\r\n`), content]);
}

/** What came until the connection ended. @throws Error when it is no HTTP, or was cut off */
export function parseAnswer(bytes: Buffer): WireAnswer {
  const end = bytes.indexOf("\r\n\r\n");
  const [first = "", ...lines] = bytes.subarray(0, Math.max(end, 0)).toString("latin1").split(
    "\r\n",
  );
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1]);
  if (end < 0 || !Number.isInteger(status)) throw new Error("the daemon's answer is no HTTP");
  const headers = new Map(lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  }));
  const rest = bytes.subarray(end + 4);
  return { status, headers, body: bodyOf(rest, headers).toString("utf8") };
}

function bodyOf(rest: Buffer, headers: Map<string, string>): Buffer {
  if (headers.get("transfer-encoding")?.toLowerCase() === "chunked") return joined(rest);
  const announced = headers.get("content-length");
  if (announced !== undefined && Number(announced) !== rest.length) {
    throw new Error("the daemon's answer was cut off");
  }
  return rest;
}

function joined(rest: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0;;) {
    const end = rest.indexOf("\r\n", at);
    const size = /^[0-9a-f]{1,8}/i.exec(rest.subarray(at, Math.max(end, at)).toString("latin1"));
    if (end < 0 || !size) throw new Error("the daemon's answer was cut off");
    const length = parseInt(size[0], 16);
    if (length === 0) return Buffer.concat(pieces);
    if (end + 2 + length > rest.length) throw new Error("the daemon's answer was cut off");
    pieces.push(rest.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}
