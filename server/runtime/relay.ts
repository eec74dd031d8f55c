import { closeSync, writeSync } from "node:fs";
import { connect, createServer } from "node:net";
import process from "node:process";

const MOST_CONNECTIONS = 128;

/**
 * Listens on this port of the loopback network and passes each connection on to a socket. Writes one
 * line when it listens, and closes its output. Runs until it is ended.
 */
export function relay(socket: string, port: number): void {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const proxy = connect({ path: socket, allowHalfOpen: true });
    for (const [one, other] of [[client, proxy], [proxy, client]] as const) {
      one.on("error", () => one.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.on("error", () => process.exit(1));
  server.listen(port, "127.0.0.1", () => {
    writeSync(1, "ready\n");
    closeSync(1);
  });
}
