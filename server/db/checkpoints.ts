import type { Checkpoint } from "../evidence/schema.ts";
import type { Statement } from "./ledger.ts";

/** Keeps a checkpoint; it stands only where the event that it signs does. */
export function insertCheckpoint(checkpoint: Checkpoint): Statement {
  const { project_id, seq, hash, at, public_key, signature } = checkpoint;
  return {
    sql: `INSERT INTO checkpoints (project_id, seq, hash, at, public_key, signature)
      SELECT ?, ?, ?, ?, ?, ?
      WHERE EXISTS (SELECT 1 FROM audit WHERE project_id = ? AND seq = ? AND hash = ?)
      ON CONFLICT DO NOTHING`,
    args: [project_id, seq, hash, at, public_key, signature, project_id, seq, hash],
  };
}
