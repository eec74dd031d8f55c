import { connect } from "node:net";
import { parseAnswer, requestBytes } from "./wire_answer.ts";
import { MAX_ANSWER, SilentError, type WireAnswer, type WireRequest } from "./wire_request.ts";

/** Asks over `node:net`, which every runtime has. @throws Error */
export function askSocket(request: WireRequest): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let length = 0;
    const socket = connect(request.socket);
    const timer = setTimeout(() => end(new SilentError()), request.timeout_ms);
    const end = (error: Error | null) => {
      clearTimeout(timer);
      socket.destroy();
      if (error) return reject(error);
      try {
        resolve(parseAnswer(Buffer.concat(pieces)));
      } catch (cause) {
        reject(cause);
      }
    };
    socket.on("connect", () => socket.write(requestBytes(request)));
    socket.on("data", (piece: Uint8Array) => {
      pieces.push(piece);
      length += piece.length;
      if (length > MAX_ANSWER) end(new Error("the daemon's answer is too long"));
    });
    socket.on("error", end);
    socket.on("end", () => end(null));
  });
}
