import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Environment } from "../environment.ts";
import { createSecret, digestOf } from "./digest.ts";

/** How long a browser stays logged in. */
const LIFETIME_MS = 12 * 60 * 60 * 1000;
const MOST_KEYS = 64;

const Stored = z.array(z.object({ digest: z.string().length(64), expires_at: z.number() }));

/** The keys of the browsers that are logged in; only their digests are kept. */
export class PageKeys {
  readonly #environment: Environment;
  readonly #path: string;
  #keys = new Map<string, number>();

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#path = join(environment.home, "tokens", "page_keys.json");
  }

  /** Takes up the keys of the daemon before; a damaged file only means logging in again. */
  async load(): Promise<void> {
    try {
      const stored = Stored.parse(JSON.parse(await readFile(this.#path, "utf8")));
      this.#keys = new Map(stored.map((key) => [key.digest, key.expires_at]));
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return;
      this.#environment.log("warn", "page keys are damaged: browsers have to log in again");
    }
  }

  /** A new key, good for twelve hours. */
  async create(): Promise<string> {
    const key = createSecret(256);
    const now = this.#environment.now();
    this.#keys.set(hex(key), now + LIFETIME_MS);
    const fresh = [...this.#keys].filter((entry) => entry[1] > now).slice(-MOST_KEYS);
    this.#keys = new Map(fresh);
    await this.#save();
    return key;
  }

  /** Whether a browser that sends this key is logged in. */
  has(key: string): boolean {
    if (key.length !== 43) return false;
    return (this.#keys.get(hex(key)) ?? 0) > this.#environment.now();
  }

  async #save(): Promise<void> {
    const stored = [...this.#keys].map(([digest, expires_at]) => ({ digest, expires_at }));
    const temporary = `${this.#path}.${this.#environment.id()}`;
    await writeFile(temporary, JSON.stringify(stored), { mode: 0o600, flag: "wx" });
    await rename(temporary, this.#path);
  }
}

// A look-up by digest tells nothing of the key: whoever probes cannot choose a digest.
function hex(key: string): string {
  return Buffer.from(digestOf(key)).toString("hex");
}
