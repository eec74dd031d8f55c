import type { Database } from "../db/database.ts";
import { ProofChange } from "./schema.ts";

/** Every change of the proof, oldest first. @throws ZodError or SyntaxError for a damaged row */
export async function listChanges(registry: Database): Promise<ProofChange[]> {
  const rows = await registry.all("SELECT data FROM proof_changes ORDER BY number");
  return rows.map(({ data }) => ProofChange.parse(JSON.parse(String(data))));
}

/** What a home without any change decided with at its first start. */
export async function findStart(registry: Database): Promise<"none" | "token"> {
  const rows = await registry.all("SELECT kind FROM proof_start");
  return rows[0]?.kind === "token" ? "token" : "none";
}

/** Records that the reviewer's token decides, until a key is enrolled. */
export async function insertTokenStart(registry: Database): Promise<void> {
  await registry.batch([{
    sql: "INSERT INTO proof_start (one, kind) VALUES (1, 'token') ON CONFLICT DO NOTHING",
    args: [],
  }]);
}
