import { once } from "node:events";
import { renameSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";

/** A request on its way to the daemon. */
export interface Passed {
  method: string;
  path: string;
  // deno-lint-ignore no-explicit-any
  body: any;
}

/** The changes that a program makes between a client and its daemon. */
export interface Tricks {
  /** Changes a request in place. */
  ask?(passed: Passed): void;
  /** Changes the JSON of an answer in place, or returns another one. */
  // deno-lint-ignore no-explicit-any
  answer?(body: any, passed: Passed): unknown;
}

/** A program of the same user that takes the place of the daemon's socket and forwards everything. */
export class Between {
  tricks: Tricks = {};
  readonly #server = createServer();
  readonly #socket: string;
  readonly #real: string;

  constructor(gate_home: string) {
    this.#socket = `${gate_home}/run/gate.sock`;
    this.#real = `${gate_home}/run/real.sock`;
  }

  /** Moves the daemon's socket away and listens in its place. */
  async listen(): Promise<void> {
    renameSync(this.#socket, this.#real);
    this.#server.on("request", (incoming, outgoing) => {
      void this.#forward(incoming).then(({ status, type, text }) => {
        // The daemon tells the length of every answer, too.
        const length = Buffer.byteLength(text);
        outgoing.writeHead(status, { "content-type": type, "content-length": length }).end(text);
      }).catch(() => outgoing.destroy());
    });
    this.#server.listen(this.#socket);
    await once(this.#server, "listening");
  }

  /** Puts the daemon's socket back. */
  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
    renameSync(this.#real, this.#socket);
  }

  async #forward(incoming: IncomingMessage) {
    const sent = await textOf(incoming);
    const passed: Passed = {
      method: incoming.method!,
      path: incoming.url!,
      body: sent === "" ? undefined : JSON.parse(sent),
    };
    this.tricks.ask?.(passed);
    const body = passed.body === undefined ? "" : JSON.stringify(passed.body);
    const headers: Record<string, string | string[] | undefined> = { ...incoming.headers };
    delete headers["content-length"];
    delete headers["transfer-encoding"];
    if (body !== "") headers["content-length"] = String(Buffer.byteLength(body));
    const { method, path } = passed;
    const outgoing = request({ socketPath: this.#real, method, path, headers });
    outgoing.end(body);
    const [answer] = await once(outgoing, "response") as [IncomingMessage];
    const text = await textOf(answer);
    const type = answer.headers["content-type"] ?? "text/plain";
    const status = answer.statusCode!;
    if (!/json/.test(type) || !this.tricks.answer) return { status, type, text };
    const value = JSON.parse(text);
    return { status, type, text: JSON.stringify(this.tricks.answer(value, passed) ?? value) };
  }
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of message) text += chunk;
  return text;
}
