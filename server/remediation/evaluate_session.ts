import { counted, isGrave, readDeeds, type RemediationSource, secretOf } from "./deeds.ts";
import type { Block, Compliance } from "./schema.ts";
import type { Deed } from "./store.ts";

type Budget = Compliance["budget"][number];
type Violation = Compliance["violations"][number];

const MOST_VIOLATIONS = 500;

/** Evaluates what a session did by rules that no single decision sees. @throws GateError `not_found` */
export async function evaluateSession(
  source: RemediationSource,
  session_id: string,
): Promise<Compliance> {
  const deeds = await readDeeds(source, session_id);
  const session = await source.sessions.get(session_id);
  const blocks = await blocksOf(source, session);
  const violations = [
    ...blocks.map(({ action_id, reason }) => ({
      ...{ rule: "session_blocked" as const, action_id, why: reason },
    })),
    ...deeds.flatMap(violationsOf),
  ].slice(0, MOST_VIOLATIONS);
  const budget = await budgetOf(source, session);
  return { compliant: violations.length === 0, violations, budget };
}

/** The budgets of a session: how much it has changed without a person, and how much it may. */
async function budgetOf(
  { budgets, config }: RemediationSource,
  { id, home_project }: { id: string; home_project: string | null },
): Promise<Budget[]> {
  const spent = await budgets.of(id);
  const { compiled: { limits } } = await config.inForce(home_project ?? undefined);
  return [
    { of: "files", spent: spent.files, limit: limits.maxChangedFilesPerSession },
    { of: "bytes", spent: spent.bytes, limit: limits.maxChangedBytesPerSession },
    { of: "deletions", spent: spent.deletions, limit: limits.maxDeletionsPerSession },
  ];
}

/** The active blocks of a session, and of its agent in all sessions. */
export async function blocksOf(
  { blocks }: RemediationSource,
  { id, agent }: { id: string; agent: string },
): Promise<Block[]> {
  return (await blocks.list()).filter((block) =>
    block.agent === null ? block.session_id === id : block.agent === agent
  );
}

function violationsOf(deed: Deed): Violation[] {
  const { id: action_id, status, decided_by, grant_id, rule, reason, risk, restored } = deed;
  const found: Violation[] = [];
  const add = (rule: Violation["rule"], why: string) => found.push({ rule, action_id, why });
  if (restored > 0) {
    add("guarded_file_changed", `${counted(restored, "guarded file")} changed while it ran`);
  }
  if (status === "blocked") {
    add("blocked_attempt", reason);
    return found;
  }
  const secret = secretOf(deed);
  if (secret !== null) add("secret_touched", `it touches "${secret}", which holds secrets`);
  if (rule === "budget") add("budget_spent", reason);
  if (!isGrave(deed) || decided_by !== "policy") return found;
  const why = risk.factors[0]?.why ?? `its risk is ${risk.level}`;
  if (grant_id !== null) add("review_skipped", `grant ${grant_id} allowed it: ${why}`);
  else if (deed.changes.some(({ before }) => before !== null)) add("unreviewed_overwrite", why);
  else add("unreviewed_risk", why);
  return found;
}
