import { existsSync, readFileSync } from "node:fs";
import { createPublicKey } from "node:crypto";
import { Checkpoint } from "../../server/evidence/schema.ts";
import { isSigned } from "../../server/evidence/signature.ts";
import type { Known } from "../../server/evidence/verify.ts";
import { CliError, EXIT } from "../errors.ts";

export interface KnownOptions {
  key?: string;
  checkpoint?: string;
}

/** What the person who checks has from elsewhere. @throws CliError */
export function readKnown({ key, checkpoint }: KnownOptions): Known {
  return {
    ...key === undefined ? {} : { public_key: readKey(key) },
    ...checkpoint === undefined ? {} : { checkpoint: readCheckpoint(checkpoint) },
  };
}

/** Base64 as `gate audit checkpoint` prints it, or a file with that or with a public key in PEM. */
function readKey(given: string): string {
  const text = (existsSync(given) ? readFileSync(given, "utf8") : given).trim();
  try {
    const key = text.includes("-----BEGIN")
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
    return key.export({ type: "spki", format: "der" }).toString("base64");
  } catch {
    throw new CliError(
      `Cannot use --key "${given}": it is neither a public key nor a file of one`,
      {
        next: "gate audit checkpoint",
        exit: EXIT.usage,
      },
    );
  }
}

/** `<seq>:<hash>`, or a file with what `gate audit checkpoint --json` printed. */
function readCheckpoint(given: string): NonNullable<Known["checkpoint"]> {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(given) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  const kept = existsSync(given) ? readKept(given) : null;
  if (kept) return kept;
  throw new CliError(
    `Cannot use --checkpoint "${given}": expected <number>:<hash>, or a file with a signed one`,
    { next: "gate audit checkpoint", exit: EXIT.usage },
  );
}

function readKept(path: string): Checkpoint | null {
  try {
    const checkpoint = Checkpoint.parse(JSON.parse(readFileSync(path, "utf8")));
    return isSigned(checkpoint) ? checkpoint : null;
  } catch {
    return null;
  }
}
