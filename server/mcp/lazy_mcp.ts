import type { Environment } from "../environment.ts";
import { ownEnvironment, selfWords } from "../runtime/self.ts";
import { runCommand } from "../runtime/spawn.ts";
import type { HttpConnections, HttpOptions } from "./http_connections.ts";

/** MCP over HTTP, loaded with the first request for it: most daemons never get one. */
export class LazyMcp {
  readonly #fetch: HttpOptions["fetch"];
  readonly #environment: Pick<Environment, "now" | "log">;
  #opened: Promise<HttpConnections> | null = null;

  constructor(fetch: HttpOptions["fetch"], environment: Pick<Environment, "now" | "log">) {
    this.#fetch = fetch;
    this.#environment = environment;
  }

  open(): Promise<HttpConnections> {
    return this.#opened ??= this.#load();
  }

  /** Kills and reports what runs for any client. */
  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }

  async #load(): Promise<HttpConnections> {
    const { HttpConnections } = await import("./http_connections.ts");
    const { now, log } = this.#environment;
    return new HttpConnections({
      fetch: this.#fetch,
      run: runCommand,
      program: () => selfWords(ownEnvironment()),
      now,
      id: () => crypto.randomUUID(),
      log: (message) => log("warn", message),
    });
  }
}
