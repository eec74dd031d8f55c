import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectSecure, type TLSSocket } from "node:tls";
import type { Target } from "../target.ts";

/** An open connection, and the protocol that TLS agreed on (null without TLS). */
export interface Connected {
  socket: Socket;
  protocol: string | null;
}

export interface ConnectOptions {
  timeout_ms: number;
  insecure?: boolean;
  /** Offered in the TLS handshake, the best first. */
  protocols: string[];
}

/** Opens one connection, its TLS handshake done. Never throws: a failure is the value. */
export function openSocket(target: Target, options: ConnectOptions): Promise<Connected | Error> {
  return new Promise((resolve) => {
    const socket = dialSocket(target, options);
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(new Error(`cannot open ${target.host}: ${error.message}`, { cause: error }));
    };
    const timer = setTimeout(() => fail(new Error("the connection timed out")), options.timeout_ms);
    socket.once("error", fail);
    socket.once(target.secure ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      const protocol = target.secure ? (socket as TLSSocket).alpnProtocol || null : null;
      resolve({ socket, protocol });
    });
  });
}

/** A connection that is still being opened; what is written to it leaves when it is. */
export function dialSocket(target: Target, options: Omit<ConnectOptions, "timeout_ms">): Socket {
  const { hostname, port, secure, address: host = hostname } = target;
  if (!secure) return connectPlain({ host, port }).setNoDelay(true);
  const servername = /^[\d.]+$|:/.test(hostname) ? undefined : hostname;
  const { insecure, protocols } = options;
  const rejectUnauthorized = !insecure;
  return connectSecure({ host, port, servername, rejectUnauthorized, ALPNProtocols: protocols })
    .setNoDelay(true);
}
