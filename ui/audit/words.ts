import type { AuditEvent, AuditType } from "../../server/evidence/schema.ts";

/** Each kind of event in words. */
export const TYPES: Record<AuditType, string> = {
  "session.started": "Session started",
  "session.ended": "Session ended",
  "action.submitted": "Action submitted",
  "action.approved": "Action approved or allowed",
  "action.rejected": "Action rejected or blocked",
  "action.edited": "Action edited",
  "action.conflicted": "Action in conflict",
  "action.expired": "Action expired",
  "action.cancelled": "Action cancelled",
  "action.started": "Execution started",
  "action.finished": "Execution finished",
  "action.rolled_back": "Action rolled back",
  "action.replayed": "Action replayed",
  "vote.cast": "Vote cast",
  "policy.changed": "Policy changed",
  "grant.added": "Approval remembered",
  "grant.used": "Remembered approval used",
  "grant.revoked": "Remembered approval revoked",
  "wall.opened": "Wall of the sandbox opened",
  "wall.closed": "Wall of the sandbox closed",
  "lease.used": "Step of a plan used",
  "reminder.sent": "Reminder sent",
  "escalation.raised": "Escalation raised",
  "escalation.closed": "Escalation closed",
  "project.removed": "Project removed",
  "ledger.move_started": "Move of the ledger started",
  "machine.joined": "Machine joined the ledger",
  "machine.left": "Machine left the ledger",
  "proof.changed": "Proof changed",
  "guard.restored": "Guarded file restored",
  "block.added": "Block added",
  "block.removed": "Block lifted",
  "quota.reached": "Quota reached",
  "member.added": "Member added",
  "member.changed": "Member changed",
  "member.removed": "Member removed",
  "route.added": "Route added",
  "route.changed": "Route changed",
  "route.removed": "Route removed",
  "monitor.terminated": "Process terminated",
  "contents.dropped": "Old contents dropped",
  "machine.repaired": "Finding of the checks repaired",
};

/** Names an event in words: a person approves and rejects, the policy allows and blocks. */
export function typeWord({ type, actor }: AuditEvent): string {
  if (type === "action.approved") {
    return actor.kind === "policy" ? "Action allowed" : "Action approved";
  }
  if (type === "action.rejected") {
    return actor.kind === "policy" ? "Action blocked" : "Action rejected";
  }
  return TYPES[type];
}

/** The path, command or tool that an event names; null if it names none. */
export function objectOf({ data }: AuditEvent): string | null {
  const input = data["input"];
  for (const from of [data, input]) {
    if (typeof from !== "object" || from === null) continue;
    for (const name of ["path", "command", "what", "name", "reason", "tool"]) {
      const value = (from as Record<string, unknown>)[name];
      if (typeof value === "string" && value !== "") return value;
    }
  }
  return null;
}

/** The periods that a page offers. */
export const WINDOWS: Record<string, string> = {
  "1d": "Last day",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
};
