import { setImmediate as pause } from "node:timers/promises";
import type { Ledger } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { PolicyLimits } from "../policy/schema.ts";
import { levelOf } from "../risk/assess.ts";
import { secrecyOf } from "../risk/paths.ts";
import type { Risk } from "../risk/schema.ts";
import type { Blocks } from "./blocks.ts";
import type { AssessInput, Compliance, Recommendations } from "./schema.ts";
import { countLater, type Deed, findDeed, listDeeds } from "./store.ts";

/** The parts of a project that remediation reads. It changes nothing itself. */
export interface RemediationSource {
  ledger: Ledger;
  blocks: Pick<Blocks, "list">;
  sessions: {
    /** @throws GateError `not_found` */
    get(
      id: string,
    ): Promise<{ id: string; agent: string; ended_at: string | null; home_project: string | null }>;
  };
  budgets: { of(session_id: string): Promise<Record<Budget["of"], number>> };
  config: { inForce(home_project?: string): Promise<{ compiled: { limits: PolicyLimits } }> };
}

type Budget = Compliance["budget"][number];

const PAGE = 200;
/** Older actions of a session are not looked at. */
const MOST_DEEDS = 5_000;
const MOST_VIOLATIONS = 500;
/** A rollback of one action looks for later changes of at most so many actions. */
const MOST_COMPARED = 200;

type Factor = Risk["factors"][number];

/** The risk of an action or a session, or of rolling it back. @throws GateError `not_found` */
export async function assess(
  source: RemediationSource,
  { action_id, session_id, rollback = false }: AssessInput,
): Promise<Risk> {
  if (action_id !== undefined) {
    const deed = await requireDeed(source.ledger, action_id);
    return rollback ? await rollbackRisk(source.ledger, [deed]) : deed.risk;
  }
  const deeds = await readDeeds(source, session_id!);
  return rollback ? await rollbackRisk(source.ledger, deeds.filter(isDone)) : sessionRisk(deeds);
}

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

/** The strategies that fit a session, the best first, with the call of each. @throws GateError `not_found` */
export async function recommend(
  source: RemediationSource,
  session_id: string,
): Promise<Recommendations> {
  const session = await source.sessions.get(session_id);
  const deeds = await readDeeds(source, session_id);
  const { violations } = await evaluateSession(source, session_id);
  const found: Recommendations = [];
  const path = `/api/sessions/${encodeURIComponent(session_id)}`;
  const held = deeds.filter(({ status }) => status === "pending");
  const undoable = deeds.filter((deed) => isDone(deed) && deed.reversible);
  const grave = undoable.filter(isGrave);
  const grants = [...new Set(deeds.flatMap(({ grant_id }) => grant_id ?? []))];
  const isGraveSession = violations.some(({ rule }) =>
    rule === "guarded_file_changed" || rule === "session_blocked"
  );
  if (violations.length > 0 && held.length > 0) {
    found.push({
      strategy: "reject_held",
      score: isGraveSession ? 95 : 60,
      why: `${counted(held.length, "action")} of the session ${
        held.length === 1 ? "waits" : "wait"
      } for a person`,
      steps: ["Reject everything that the session has submitted and nobody has approved"],
      call: { method: "POST", path: "/api/actions/reject", body: { session_id } },
    });
  }
  if (grave.length > 0 && grave.length < undoable.length) {
    found.push({
      strategy: "rollback_risky_actions",
      score: isGraveSession ? 80 : 70,
      why: `${grave.length} of ${undoable.length} changes have a high or critical risk`,
      steps: [
        "Look at what the rollback would change (dry_run)",
        "Roll these actions back; gate refuses if later actions depend on them",
      ],
      call: {
        method: "POST",
        path: `${path}/rollback-partial`,
        body: { action_ids: grave.map(({ id }) => id), dry_run: true },
      },
    });
  }
  if (undoable.length > 0 && violations.length > 0) {
    found.push({
      strategy: "rollback_session",
      score: isGraveSession ? 90 : grave.length === undoable.length ? 75 : 45,
      why: `${counted(undoable.length, "change")} of the session can be rolled back`,
      steps: [
        "Look at what the rollback would change (dry_run)",
        "Roll the whole session back, newest first, all or nothing",
      ],
      call: { method: "POST", path: `${path}/rollback`, body: { dry_run: true } },
    });
  }
  for (const grant_id of grants.slice(0, 20)) {
    if (!violations.some(({ rule }) => rule === "review_skipped")) break;
    found.push({
      strategy: "revoke_grant",
      score: 65,
      why: `grant ${grant_id} let actions of high risk pass without a review`,
      steps: ["Revoke the grant, so that a person is asked again"],
      call: { method: "DELETE", path: `/api/grants/${grant_id}`, body: null },
    });
  }
  if (session.ended_at === null && violations.length > 0) {
    found.push({
      strategy: "end_session",
      score: isGraveSession ? 85 : 30,
      why: "the session is open, so its agent can go on",
      steps: ["End the session; the agent has to open a new one"],
      call: { method: "POST", path: `${path}/end`, body: {} },
    });
  }
  for (const block of await blocksOf(source, session)) {
    found.push({
      strategy: "lift_block",
      score: 20,
      why: `gate has blocked it: ${block.reason}`,
      steps: ["Look at what the session did", "Lift the block, if it was right to do so"],
      call: {
        method: "POST",
        path: `/api/remediation/blocks/${block.id}/unblock`,
        body: { reason: "seen" },
      },
    });
  }
  found.push({
    strategy: "review_changes",
    score: violations.length === 0 ? 10 : 50,
    why: violations.length === 0
      ? "nothing in the session breaks a rule"
      : `${counted(violations.length, "finding")} for a person to look at`,
    steps: ["Read what the session changed"],
    call: { method: "GET", path: `${path}/diff`, body: null },
  });
  return found.toSorted((a, b) => b.score - a.score);
}

async function blocksOf(
  { blocks }: RemediationSource,
  { id, agent }: { id: string; agent: string },
) {
  return (await blocks.list()).filter((block) =>
    block.agent === null ? block.session_id === id : block.agent === agent
  );
}

async function requireDeed(ledger: Ledger, id: string): Promise<Deed> {
  const deed = /^[0-9a-f-]{36}$/.test(id) ? await findDeed(ledger, id) : null;
  if (deed) return deed;
  const shown = JSON.stringify(id.toWellFormed());
  throw new GateError(
    "not_found",
    `Cannot assess action ${shown}: it is not in this project; run gate log`,
  );
}

/** The newest actions of a session, newest first. */
async function readDeeds(
  { ledger, sessions }: RemediationSource,
  session_id: string,
): Promise<Deed[]> {
  await sessions.get(session_id);
  const deeds: Deed[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; deeds.length < MOST_DEEDS;) {
    const page = await listDeeds(ledger, session_id, { before, limit: PAGE });
    deeds.push(...page);
    if (page.length < PAGE) break;
    before = page.at(-1)!.seq;
    await pause();
  }
  return deeds;
}

function isDone({ status, execution }: Deed): boolean {
  return status === "approved" && /^(succeeded|failed|unknown)$/.test(execution);
}

function isGrave({ risk: { level } }: Deed): boolean {
  return level === "high" || level === "critical";
}

/** The riskiest action counts in full, and what the others add is explained. */
function sessionRisk(deeds: readonly Deed[]): Risk {
  const [worst] = deeds.toSorted((a, b) => b.risk.score - a.risk.score);
  const others = deeds.filter((deed) => deed !== worst && isGrave(deed)).length;
  const denied = deeds.filter(({ status }) => status === "blocked").length;
  const lost = deeds.filter((deed) => isDone(deed) && !deed.reversible && isGrave(deed)).length;
  const secrets = deeds.filter((deed) => deed.effect !== "deny" && secretOf(deed) !== null).length;
  return riskOf([
    { name: "riskiest_action", weight: worst?.risk.score ?? 0, why: `action ${worst?.id}` },
    {
      name: "more_risky_actions",
      weight: Math.min(15, 3 * others),
      why: `${counted(others, "more action")} of high or critical risk`,
    },
    {
      name: "denied",
      weight: Math.min(15, denied),
      why: `policy denied ${counted(denied, "action")}`,
    },
    {
      name: "not_reversible",
      weight: Math.min(10, 5 * lost),
      why: `${counted(lost, "risky action")} cannot be rolled back`,
    },
    {
      name: "secrets",
      weight: Math.min(10, 5 * secrets),
      why: `${counted(secrets, "action")} touched secrets`,
    },
  ]);
}

/** The risk that a rollback loses work. */
async function rollbackRisk(ledger: Ledger, deeds: readonly Deed[]): Promise<Risk> {
  const own = new Set(deeds.map(({ id }) => id));
  const open = deeds.filter((deed) => !isDone(deed)).length;
  const lasting = deeds.filter((deed) => isDone(deed) && !deed.reversible).length;
  const made =
    deeds.flatMap(({ changes }) => changes.filter(({ before }) => before === null)).length;
  const files = new Set(deeds.flatMap(({ changes }) => changes.map(({ path }) => path))).size;
  let later = 0;
  for (const deed of deeds.slice(0, MOST_COMPARED)) {
    if (deed.path === null || deed.changes.length === 0) continue;
    const own_later = deeds.filter(({ path, seq, id }) =>
      path === deed.path && seq > deed.seq && own.has(id)
    ).length;
    if (await countLater(ledger, deed) > own_later) later++;
  }
  const commands = deeds.filter(({ command, reversible }) => command !== null && reversible).length;
  return riskOf([
    {
      name: "nothing_done",
      weight: open > 0 ? 30 : 0,
      why: `${open} actions were not carried out`,
    },
    {
      name: "not_reversible",
      weight: lasting > 0 ? 50 : 0,
      why: `${lasting} actions cannot be rolled back`,
    },
    {
      name: "changed_later",
      weight: later > 0 ? 40 : 0,
      why: `later actions changed the files of ${later} of them`,
    },
    {
      name: "deletes",
      weight: Math.min(20, 2 * made),
      why: `${made} files that were created are deleted`,
    },
    {
      name: "commands",
      weight: commands > 0 ? 10 : 0,
      why: `of ${commands} commands only the files that gate kept are restored`,
    },
    {
      name: "many_files",
      weight: files > 20 ? 15 : files > 0 ? 3 : 0,
      why: `${files} files change`,
    },
  ]);
}

function riskOf(factors: Factor[]): Risk {
  const counted = factors.filter(({ weight }) => weight > 0);
  const score = Math.min(100, counted.reduce((sum, { weight }) => sum + weight, 0));
  return { score, level: levelOf(score), factors: counted };
}

function violationsOf(deed: Deed): Compliance["violations"] {
  const { id: action_id, status, decided_by, grant_id, rule, reason, risk, restored } = deed;
  const found: Compliance["violations"] = [];
  const add = (rule: Compliance["violations"][number]["rule"], why: string) =>
    found.push({ rule, action_id, why });
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

/** The file of secrets that an action touches; null for none. */
function secretOf({ path, reads, changes }: Deed): string | null {
  const paths = [...path === null ? [] : [path], ...reads, ...changes.map((one) => one.path)];
  return paths.find((one) => secrecyOf(one) !== null) ?? null;
}

function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
