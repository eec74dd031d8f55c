/** The part of Bun's sockets that is used here. */
export interface UnixSocket {
  /** Returns how many bytes it took. */
  write(bytes: Uint8Array): number;
  terminate(): void;
  /** Whether the open connection keeps the process alive; at first it does. */
  ref(): void;
  unref(): void;
}

/** The events of a connection. A piece is valid only during the call. */
export interface Connecting {
  unix: string;
  socket: {
    data(socket: UnixSocket, piece: Uint8Array): void;
    drain(socket: UnixSocket): void;
    close(): void;
    error(socket: UnixSocket, error: Error): void;
  };
}

type Connect = (options: Connecting) => Promise<UnixSocket>;

/** True on Bun: its own sockets need no module. */
export const HAS_OWN_SOCKETS = "Bun" in globalThis;

/** Connects to a unix socket. It loads `node:net` only where Bun's own sockets do not exist. */
export const connectUnix: Connect = (options) => {
  const { Bun } = globalThis as { Bun?: { connect: Connect } };
  return Bun ? Bun.connect(options) : connectByNode(options);
};

/** `Bun.connect` over `node:net`, which every runtime has. */
const connectByNode: Connect = async ({ unix, socket: handlers }) => {
  const { connect } = await import("node:net");
  const connection = connect(unix);
  const socket: UnixSocket = {
    write: (bytes) => (connection.write(bytes), bytes.length),
    terminate: () => connection.destroy(),
    ref: () => connection.ref(),
    unref: () => connection.unref(),
  };
  connection.on("data", (piece: Uint8Array) => handlers.data(socket, piece));
  connection.on("error", (error) => handlers.error(socket, error));
  connection.on("close", () => handlers.close());
  return socket;
};
