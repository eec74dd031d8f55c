import type { Checkpoint } from "../../server/audit/schema.ts";
import type { Known } from "../../server/evidence/verify.ts";
import { BROWSER } from "./prover.ts";

/** What a reader typed in: a key, `<number>:<hash>`, or a signed checkpoint; null for none of it. */
export async function readKnown(typed: string): Promise<Known | null> {
  const text = typed.trim().replace(/^--(key|checkpoint)\s+/, "");
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined) return { checkpoint: { seq: Number(seq), hash } };
  if (/^[A-Za-z0-9+/]{59}=$/.test(text)) return { public_key: text };
  const checkpoint = checkpointOf(text);
  if (!checkpoint || !await BROWSER.isSigned(checkpoint)) return null;
  return { checkpoint, public_key: checkpoint.public_key };
}

function checkpointOf(text: string): Checkpoint | null {
  try {
    const { project_id, seq, hash, at, public_key, signature } = JSON.parse(text);
    return { project_id, seq, hash, at, public_key, signature };
  } catch {
    return null;
  }
}
