import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { Database } from "../db/database.ts";
import { readPlacement } from "../db/placement.ts";
import { ProofRecord } from "../proof/schema.ts";
import { listPolicyChanges } from "./store.ts";

/** One acceptance of a config, as the audit event of it names it in `data.accepted`. */
export const Acceptance = z.object({
  /** "" for the machine. */
  project_id: z.string(),
  /** One more than that of the acceptance before. */
  number: z.number().int().min(1),
  sha256: z.string(),
  /** In a ledger that repeats it: a person signed it, and the event with the proof is in another. */
  proved: z.boolean().optional(),
});
export type Acceptance = z.infer<typeof Acceptance>;

/** The newest acceptance of one config that the audit logs know. */
export interface Newest {
  /** 0 before the first. */
  number: number;
  sha256: string;
  /** The number of the newest one that a person signed. */
  proved: number;
  /** The path of the file; null when no ledger names it. */
  path: string | null;
  /** The proof of this acceptance, where a ledger holds it. */
  proof: ProofRecord | null;
}

/** The value before the first acceptance. */
export const NEVER: Newest = {
  number: 0,
  sha256: "",
  proved: 0,
  path: null,
  proof: null,
};

/**
 * Reads the newest acceptance of a config from the ledgers of this home: gate.db alone cannot tell
 * that another program has put an older row back. A person accepts the machine's config in any
 * project, so all ledgers are read for it. Rejects when another program locks a ledger.
 */
export async function readNewest(home: string, project_id: string): Promise<Newest> {
  const folder = join(home, "projects");
  const all = existsSync(folder) ? readdirSync(folder).toSorted() : [];
  let newest = NEVER;
  for (const id of project_id === "" ? all : [project_id]) {
    for (const path of ledgersIn(join(folder, id))) {
      newest = newestOf(await readEvents(path, id), project_id, newest);
    }
  }
  return newest;
}

/** The ledger of a project, and the one that this home used before it joined other machines. */
function ledgersIn(folder: string): string[] {
  const { set_aside } = readPlacement(folder) ?? {};
  return ["ledger.db", ...set_aside === undefined ? [] : [basename(set_aside)]]
    .map((name) => join(folder, name));
}

/** The newest acceptance of a config in the data of one ledger's `policy.changed` events. */
export function newestOf(
  events: readonly Record<string, unknown>[],
  project_id: string,
  before: Newest = NEVER,
): Newest {
  const newest = { ...before };
  for (const { accepted, proof, path } of events) {
    const { data } = Acceptance.safeParse(accepted);
    if (data?.project_id !== project_id) continue;
    const { number, sha256, proved } = data;
    if (proof || proved) newest.proved = Math.max(newest.proved, number);
    if (number < newest.number) continue;
    const isSame = number === newest.number && sha256 === newest.sha256;
    // An event that only repeats the acceptance has no proof.
    const known = isSame ? newest.proof : null;
    Object.assign(newest, {
      number,
      sha256,
      path: typeof path === "string" ? path : null,
      proof: ProofRecord.safeParse(proof).data ?? known,
    });
  }
  return newest;
}

/** A damaged ledger remembers nothing: its project reports the damage when it opens. */
async function readEvents(path: string, id: string): Promise<Record<string, unknown>[]> {
  if (!existsSync(path)) return [];
  let database: Database | null = null;
  try {
    database = await Database.open(path, { busy_limit_ms: 1_000 });
    return await listPolicyChanges(database, id);
  } catch (error) {
    if (isLocked(error)) throw error;
    return [];
  } finally {
    await database?.close();
  }
}

function isLocked(error: unknown): boolean {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  return /^SQLITE_(BUSY|LOCKED)/.test(cause?.code ?? code ?? "");
}
