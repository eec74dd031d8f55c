import { sha256 } from "../db/chain.ts";
import { canonical } from "../evidence/chain.ts";
import type { Plan } from "./plan.ts";

/** Names a plan: SHA-256 of the canonical JSON (RFC 8785) of everything that matters in it. */
export function digestOf(plan: Plan): string {
  const { tool, command, cwd, scripts, input_sha256 } = plan;
  const changes = plan.changes.map(({ path, before, after }) => ({
    path,
    before: before?.sha256 ?? null,
    after: after && { sha256: after.sha256, mode: after.mode },
  }));
  const accesses = plan.accesses.map(({ access, target }) => ({ access, path: target.real }));
  return sha256(
    canonical({ tool, command, cwd, scripts, changes, accesses, input_sha256 }),
  );
}
