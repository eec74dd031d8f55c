import { Buffer } from "node:buffer";
import { type HttpRequest, wireHeaders } from "../http.ts";
import { requestPath, type Target } from "../target.ts";

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
