import { createHmac, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const BYTES = 32;

/** This machine's key for the secrets of sessions that hosts name in their hooks. */
export class HostKey {
  readonly #key: Uint8Array;

  private constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** Reads the key from `folder`, or creates it with mode 0600. A damaged key is replaced. */
  static open(folder: string): HostKey {
    const path = join(folder, "sessions.key");
    return new HostKey(readKey(path) ?? createKey(path));
  }

  /** The secret of the session that these parts name: the same for the same parts. */
  secretOf(parts: readonly string[]): string {
    return createHmac("sha256", this.#key).update(JSON.stringify(parts)).digest("base64url");
  }
}

function readKey(path: string): Uint8Array | null {
  try {
    const key = readFileSync(path);
    if (key.length === BYTES) return key;
    rmSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return null;
}

function createKey(path: string): Uint8Array {
  const temporary = `${path}.new`;
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  rmSync(temporary, { force: true });
  const key = randomBytes(BYTES);
  writeFileSync(temporary, key, { mode: 0o600, flag: "wx", flush: true });
  // A hard link never replaces a key that another process has just created.
  linkSync(temporary, path);
  rmSync(temporary);
  return key;
}
