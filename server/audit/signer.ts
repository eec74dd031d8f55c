import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonical } from "../db/chain.ts";
import type { Checkpoint } from "./schema.ts";

type Unsigned = Pick<Checkpoint, "project_id" | "seq" | "hash" | "at">;

/** Signs heads of chains with this machine's key (Ed25519). */
export class Signer {
  readonly #key: KeyObject;
  /** The public half, as base64 of its SPKI form. */
  readonly public_key: string;

  private constructor(key: KeyObject) {
    this.#key = key;
    this.public_key = createPublicKey(key).export({ type: "spki", format: "der" })
      .toString("base64");
  }

  /** Reads the key from `folder`, where it is made (0600) when there is none. */
  static open(folder: string): Signer {
    const path = join(folder, "checkpoints.pem");
    return new Signer(createPrivateKey(readKey(path) ?? makeKey(path)));
  }

  sign(head: Unsigned): Checkpoint {
    const { project_id, seq, hash, at } = head;
    const body = { project_id, seq, hash, at, public_key: this.public_key };
    const signature = sign(null, Buffer.from(canonical(body)), this.#key).toString("base64");
    return { ...body, signature };
  }
}

/** True when the checkpoint was signed by the key that it names. */
export function isSigned(checkpoint: Checkpoint): boolean {
  const { signature, ...body } = checkpoint;
  try {
    const key = createPublicKey({
      key: Buffer.from(checkpoint.public_key, "base64"),
      format: "der",
      type: "spki",
    });
    const bytes = Buffer.from(signature, "base64");
    // Base64 has several spellings of the same bytes: only the one that we write counts.
    if (bytes.toString("base64") !== signature) return false;
    return verify(null, Buffer.from(canonical(body)), key, bytes);
  } catch {
    return false;
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
  // A link never replaces a key that somebody made meanwhile.
  linkSync(temporary, path);
  rmSync(temporary);
  return pem;
}
