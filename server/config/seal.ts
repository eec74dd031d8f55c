import { z } from "zod";
import { sha256 } from "../db/chain.ts";
import type { Database } from "../db/database.ts";
import type { ProofKind } from "../proof/schema.ts";
import { findSeal } from "./store.ts";

/** One accepted config, as a seal lists it. A seal of an older release has no number. */
export const Sealed = z.object({
  project_id: z.string(),
  path: z.string(),
  sha256: z.string(),
  number: z.number().optional(),
  /** The number of the newest acceptance in the ledgers when the list was made. */
  after: z.number().optional(),
});
export type Sealed = z.infer<typeof Sealed>;

const Seal = z.object({
  configs: z.array(Sealed),
  trusts: z.array(z.string()),
  /** The folders of the projects. A seal of an older release does not list them. */
  roots: z.array(z.object({ project_id: z.string(), root: z.string() })).optional(),
});
type Seal = z.infer<typeof Seal>;

/** The list that the newest change of the proof sealed; empty if none fits its hash. */
export async function readSeal(registry: Database, sealed_sha256: string | null): Promise<Seal> {
  const list = sealed_sha256 === null ? null : await findSeal(registry, sealed_sha256);
  if (list === null || sha256(list) !== sealed_sha256) {
    return { configs: [], trusts: [], roots: [] };
  }
  return Seal.parse(JSON.parse(list));
}

/** Whether a config or a trust counts only with a signature. */
export function isKey(kind: ProofKind): boolean {
  return kind === "passphrase" || kind === "passkey";
}
