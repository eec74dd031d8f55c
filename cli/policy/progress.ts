import type { Io } from "../io.ts";

/** One line on stderr that says how far something is, on a terminal only. */
export class Progress {
  readonly #io: Io;
  readonly #what: string;
  #shown = false;

  constructor(io: Io, what: string) {
    this.#io = io;
    this.#what = what;
  }

  /** @param share from 0 to 1 */
  show(share: number): void {
    if (!this.#io.stderr.isTTY) return;
    this.#shown = true;
    const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
    this.#io.stderr.write(`\r\x1b[K${this.#what} ${percent} %`);
  }

  end(): void {
    if (this.#shown) this.#io.stderr.write("\r\x1b[K");
    this.#shown = false;
  }
}
