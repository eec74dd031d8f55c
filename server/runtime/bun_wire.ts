import { parseAnswer, requestBytes } from "./wire_answer.ts";
import { MAX_ANSWER, SilentError, type WireAnswer, type WireRequest } from "./wire_request.ts";

/** The part of Bun's sockets that is used here. */
interface BunSocket {
  write(bytes: Uint8Array): number;
  terminate(): void;
}
interface Bun {
  connect(options: {
    unix: string;
    socket: {
      data(socket: BunSocket, piece: Uint8Array): void;
      drain(socket: BunSocket): void;
      close(): void;
      error(socket: BunSocket, error: Error): void;
    };
  }): Promise<BunSocket>;
}

/** One connection to a unix socket for one request, over what Bun needs to load nothing for. */
export class BunWire {
  readonly path: string;
  readonly #socket: Promise<BunSocket>;
  readonly #pieces: Uint8Array[] = [];
  #length = 0;
  #unsent: Uint8Array = new Uint8Array();
  /** Null while it is open. */
  #ended: { error: Error | null } | null = null;
  #onEnd: () => void = () => {};

  /** Begins to connect; whether that succeeds shows in `ask`. */
  constructor(path: string) {
    this.path = path;
    const { Bun } = globalThis as unknown as { Bun: Bun };
    this.#socket = Bun.connect({
      unix: path,
      socket: {
        data: (_socket, piece) => this.#take(piece),
        drain: (socket) => this.#send(socket),
        close: () => this.#end(null),
        error: (_socket, error) => this.#end(error),
      },
    });
    this.#socket.catch(() => {});
  }

  /** Whether nothing has come or ended on it yet. */
  get isFresh(): boolean {
    return this.#ended === null && this.#length === 0;
  }

  /** The answer to the one request of this connection. @throws SilentError, Error */
  async ask(request: WireRequest): Promise<WireAnswer> {
    const timer = setTimeout(() => this.#end(new SilentError()), request.timeout_ms);
    this.#unsent = requestBytes(request);
    this.#socket.then((socket) => this.#send(socket), (error) => this.#end(error));
    await new Promise<void>((resolve) => this.#ended ? resolve() : this.#onEnd = resolve);
    clearTimeout(timer);
    this.#socket.then((socket) => socket.terminate(), () => {});
    if (this.#ended?.error) throw this.#ended.error;
    return parseAnswer(Buffer.concat(this.#pieces));
  }

  /** As much as goes at once; the rest when there is room. */
  #send(socket: BunSocket): void {
    if (this.#unsent.length === 0) return;
    const sent = socket.write(this.#unsent);
    if (sent > 0) this.#unsent = this.#unsent.subarray(sent);
  }

  #take(piece: Uint8Array): void {
    this.#length += piece.length;
    if (this.#length > MAX_ANSWER) this.#end(new Error("the daemon's answer is too long"));
    else this.#pieces.push(piece.slice()); // Bun uses its own buffer again
  }

  #end(error: Error | null): void {
    this.#ended ??= { error };
    this.#onEnd();
  }
}
