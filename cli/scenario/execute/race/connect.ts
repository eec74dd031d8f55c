import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectSecure, type TLSSocket } from "node:tls";
import type { Target } from "../target.ts";
import { wordsOf } from "../transport_error.ts";

/** An open connection and its ALPN protocol; null without TLS. */
export interface Connected {
  socket: Socket;
  protocol: string | null;
}

export interface ConnectOptions {
  timeout_ms: number;
  insecure?: boolean;
  /** Offered in the TLS handshake, preferred first. */
  protocols: string[];
}

/** Opens one connection with its TLS handshake. Never throws: returns the Error. */
export function openSocket(target: Target, options: ConnectOptions): Promise<Connected | Error> {
  return new Promise((resolve) => {
    const socket = dialSocket(target, options);
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(new Error(`cannot open ${target.host}: ${wordsOf(error)}`, { cause: error }));
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

/** Starts a connection. Writes are sent once it is open. */
export function dialSocket(target: Target, options: Omit<ConnectOptions, "timeout_ms">): Socket {
  const { hostname, port, secure, address: host = hostname } = target;
  if (!secure) return connectPlain({ host, port }).setNoDelay(true);
  const servername = /^[\d.]+$|:/.test(hostname) ? undefined : hostname;
  const tls = { rejectUnauthorized: !options.insecure, ALPNProtocols: options.protocols };
  return connectSecure({ host, port, servername, ...tls }).setNoDelay(true);
}
