import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { writeWhole } from "./write.ts";

const Pins = z.record(z.string(), z.string());

/** SHA-256 of a config's text; null without one. */
export function hashOf(text: string): string | null {
  return text === "" ? null : createHash("sha256").update(text).digest("hex");
}

/**
 * What the config files were when the gate last looked: a change that did not come through the gate
 * is seen even if it was made while the gate was not running.
 */
export class Pin {
  readonly #path: string;
  #pins: Record<string, string> | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Remembers a file's hash; what it was before when it was another one, undefined when it is new or the same. */
  note(file: string, hash: string | null): string | null | undefined {
    const pins = this.#read();
    const before = Object.hasOwn(pins, file) ? pins[file]! : undefined;
    const now = hash ?? "";
    if (before === now) return undefined;
    pins[file] = now;
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writeWhole(this.#path, `${JSON.stringify(pins, null, 2)}\n`, 0o600);
    return before === undefined ? undefined : before === "" ? null : before;
  }

  #read(): Record<string, string> {
    if (this.#pins) return this.#pins;
    try {
      this.#pins = Pins.parse(JSON.parse(readFileSync(this.#path, "utf8")));
    } catch {
      this.#pins = {};
    }
    return this.#pins;
  }
}
