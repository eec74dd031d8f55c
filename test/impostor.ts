import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** A program that took the gate's port on every loopback address, and records all that it gets. */
export class Impostor {
  /** Each request as text: line, headers and body. */
  readonly requests: string[] = [];
  readonly #servers: Server[] = [];

  /** Listens; `answer` gets the path and the response. Without one it answers like no daemon. */
  static async listen(
    port: number,
    answer: (path: string, response: ServerResponse) => void = (_path, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end("{}"),
    hosts: readonly string[] = ["127.0.0.1", "::1"],
  ): Promise<Impostor> {
    const impostor = new Impostor();
    for (const host of hosts) {
      const server = createServer((request, response) => {
        // A page that closes takes its request back.
        impostor.#record(request).then(() => answer(request.url ?? "", response), () => {});
      });
      server.listen(port, host);
      impostor.#servers.push(server);
      await once(server, "listening").catch(async (error) => {
        await impostor.close();
        throw error;
      });
    }
    return impostor;
  }

  /** Everything that was sent, in one text. */
  get heard(): string {
    return this.requests.join("\n\n");
  }

  /** The request lines, without headers. */
  get lines(): string[] {
    return this.requests.map((request) => request.split("\n", 1)[0]!);
  }

  async close(): Promise<void> {
    for (const server of this.#servers.filter(({ listening }) => listening)) {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    }
  }

  async #record(request: IncomingMessage): Promise<void> {
    const { method, url, rawHeaders } = request;
    let body = "";
    for await (const chunk of request) body += chunk;
    this.requests.push(`${method} ${url}\n${rawHeaders.join(": ")}\n${body}`);
  }
}
