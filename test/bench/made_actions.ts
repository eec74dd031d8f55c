import type { NewEvent } from "../../server/db/ledger.ts";

export type Random = (below: number) => number;

/** One action with its events. */
export interface Made {
  action: Record<string, unknown> & { session: number; created_at: string };
  /** The columns that a later review of a held action updates. */
  later: Record<string, unknown> | null;
  events: NewEvent[];
}

const FOLDERS = ["src", "lib", "test", "docs", "server", "ui", "scripts", "config"];
const PARTS =
  "auth billing cart catalog checkout client core editor events export files forms graph help import index jobs login mail menu model notes orders pages parser policy profile queue report router search session settings shop stats store sync table tags team theme timer token tools tree types upload user video views widget worker zone"
    .split(" ");
const PROGRAMS = [
  "npm test --",
  "npm run build",
  "git diff",
  "git commit -m update",
  "rg",
  "ls -la",
  "cat",
  "tsc --noEmit -p",
  "pytest -q",
  "cargo check -p",
];
const AGENTS = ["claude-code", "codex", "copilot", "gemini", "cursor", "opencode", "zed", "vscode"];
const REVIEWERS = ["ann", "bea", "cem", "dora", "emil"];
const REASONS = ["looks right", "not in this release", "ask the owner first", "fine for now"];
const WHY = ["Secrets stay with people", "Builds are looked at", "Costs money"];
const LISTS: Record<string, string> = { allow: "allowed", ask: "ask", deny: "blocked" };

/**
 * The nth action: a write, a command or a read with a realistic mix of statuses. Only recent actions
 * may still be held, because gate holds at most 2,000 at once.
 */
export function makeAction(
  number: number,
  { time, is_recent, random }: { time: number; is_recent: boolean; random: Random },
): Made {
  const at = new Date(time).toISOString();
  const dice = random(100);
  const status = dice < 80 ? "approved" : dice < 85 ? "blocked" : "pending";
  const target = targetOf(number, status === "blocked", random);
  const rule = ruleOf(target.tool, status, random);
  const id = uuidAt(time, number);
  const agent = AGENTS[random(AGENTS.length)]!;
  const session = Math.floor(number / 400) * AGENTS.length + AGENTS.indexOf(agent);
  const decision = { effect: effectOf(status), rule, reason: rule?.reason ?? "Allowed by default" };
  const action = {
    id,
    seq: number,
    root: "/home/dev/shop",
    session,
    session_id: `session-${session}`,
    agent,
    ...target,
    cwd: "",
    status,
    execution: status === "approved" ? "succeeded" : "none",
    decision: JSON.stringify({ ...decision, alternative: null, sandbox: null }),
    risk: JSON.stringify({ score: dice, level: dice < 90 ? "low" : "high", factors: [] }),
    reversible: target.path === null ? 0 : 1,
    bytes: random(20_000),
    digest: id.replaceAll("-", "").repeat(2),
    created_at: at,
    decided_at: status === "pending" ? null : at,
    decided_by: status === "pending" ? null : "policy",
  };
  const isHeld = status !== "pending" || (is_recent && dice === 99);
  const later = isHeld ? null : laterOf(id, time, random);
  return { action, later, events: eventsOf(action, agent, id, decision, later) };
}

/** The nth session. */
export function makeSession(number: number, at: string): Record<string, unknown> {
  const agent = AGENTS[number % AGENTS.length]!;
  const place = { root: "/home/dev/shop", host: agent, agent, client: `${agent} 1.0` };
  return { id: `session-${number}`, seq: number + 1, ...place, started_at: at, last_seen_at: at };
}

function targetOf(number: number, isBlocked: boolean, random: Random) {
  const part = () => PARTS[random(PARTS.length)]!;
  const folder = `${FOLDERS[random(FOLDERS.length)]}/${part()}/${part()}`;
  if (isBlocked) {
    return {
      tool: "write_file",
      path: `secrets/${part()}/${part()}${number % 997}.env`,
      command: null,
    };
  }
  const file = `${folder}/${part()}${number % 4_999}.ts`;
  if (number % 3 === 0) {
    const command = `${PROGRAMS[random(PROGRAMS.length)]} ${folder}/${part()}`;
    return { tool: "run_command", path: null, command };
  }
  return { tool: number % 3 === 1 ? "write_file" : "read_file", path: file, command: null };
}

function ruleOf(tool: string, status: string, random: Random) {
  if (status === "approved" && random(3) === 0) return null;
  const list = LISTS[effectOf(status)]! + (tool === "run_command" ? "Commands" : "Paths");
  const reason = WHY[random(WHY.length)]!;
  return { pattern: `${PARTS[random(40)]}/**`, list, source: "project", reason };
}

function effectOf(status: string): string {
  return status === "approved" ? "allow" : status === "blocked" ? "deny" : "ask";
}

function laterOf(id: string, time: number, random: Random) {
  const status = random(5) ? "approved" : "rejected";
  return {
    id,
    status,
    execution: status === "approved" ? "succeeded" : "none",
    decided_at: new Date(time + 500 + random(900_000)).toISOString(),
    decided_by: REVIEWERS[random(REVIEWERS.length)],
    reason: REASONS[random(REASONS.length)],
  };
}

function eventsOf(
  { session_id, tool, path, command, status, digest }: Record<string, unknown>,
  agent: string,
  action_id: string,
  decision: Record<string, unknown>,
  later: Record<string, unknown> | null,
): NewEvent[] {
  const place = { session_id: String(session_id), action_id };
  const submitted = { tool, path, command, cwd: "", digest, status, ...decision };
  const decided = later
    ? { actor: { kind: "reviewer" as const, id: String(later.decided_by) }, data: later }
    : { actor: { kind: "policy" as const, id: "policy" }, data: { status, digest } };
  const isApproved = (later?.status ?? status) === "approved";
  return [
    { ...place, type: "action.submitted", actor: { kind: "agent", id: agent }, data: submitted },
    { ...place, type: isApproved ? "action.approved" : "action.rejected", ...decided },
  ];
}

/** A UUIDv7 that grows with time and number. */
function uuidAt(time: number, number: number): string {
  const stamp = Math.floor(time).toString(16).padStart(12, "0");
  const tail = number.toString(16).padStart(15, "0");
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${tail.slice(0, 3)}-8000-${tail.slice(3)}`;
}
