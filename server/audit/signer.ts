import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonical } from "../evidence/canonical.ts";
import type { Checkpoint } from "../evidence/schema.ts";

type Unsigned = Pick<Checkpoint, "project_id" | "seq" | "hash" | "at">;

/** Signs heads of chains with this machine's Ed25519 key. */
export class Signer {
  readonly #key: KeyObject;
  readonly #secret: Uint8Array;
  /** The public key as base64 of its SPKI form. */
  readonly public_key: string;

  private constructor(key: KeyObject) {
    this.#key = key;
    const secret = key.export({ type: "pkcs8", format: "der" });
    this.#secret = new Uint8Array(
      hkdfSync("sha256", secret, "", "gate: seals of this machine", 32),
    );
    this.public_key = createPublicKey(key).export({ type: "spki", format: "der" })
      .toString("base64");
  }

  /** Reads the key from `folder`, or creates it with mode 0600. */
  static open(folder: string): Signer {
    const path = join(folder, "checkpoints.pem");
    return new Signer(createPrivateKey(readKey(path) ?? makeKey(path)));
  }

  /** A code for the text that only this machine can make, as base64url. */
  seal(text: string): string {
    return createHmac("sha256", this.#secret).update(text).digest("base64url");
  }

  sign(head: Unsigned): Checkpoint {
    const { project_id, seq, hash, at } = head;
    const body = { project_id, seq, hash, at, public_key: this.public_key };
    const signature = sign(null, Buffer.from(canonical(body)), this.#key).toString("base64");
    return { ...body, signature };
  }
}

function readKey(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function makeKey(path: string): string {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, pem, { mode: 0o600, flag: "wx", flush: true });
  // A hard link never replaces a key that another process has just created.
  linkSync(temporary, path);
  rmSync(temporary);
  return pem;
}
