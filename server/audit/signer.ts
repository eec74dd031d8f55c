import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonical } from "../evidence/chain.ts";
import type { Checkpoint } from "../evidence/schema.ts";

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
