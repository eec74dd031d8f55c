import type { StreamEvent, Topic } from "./schema.ts";
import type { AuditEvent, AuditType } from "../evidence/schema.ts";

const TOPICS: Partial<Record<AuditType, Topic[]>> = {
  "session.started": ["sessions"],
  "session.ended": ["sessions"],
  "action.submitted": ["actions"],
  "action.approved": ["actions", "approvals"],
  "action.rejected": ["actions", "approvals"],
  "action.edited": ["actions", "approvals"],
  "action.conflicted": ["actions", "approvals"],
  "action.expired": ["actions", "approvals"],
  "action.cancelled": ["actions", "approvals"],
  "action.started": ["actions"],
  "action.finished": ["actions"],
  "action.rolled_back": ["actions", "sessions"],
  "action.replayed": ["actions"],
  "policy.changed": ["approvals"],
  "proof.changed": ["approvals"],
  "member.added": ["approvals"],
  "member.changed": ["approvals"],
  "member.removed": ["approvals"],
  "route.added": ["approvals"],
  "route.changed": ["approvals"],
  "route.removed": ["approvals"],
  "vote.cast": ["approvals"],
  "grant.added": ["approvals"],
  "grant.used": ["approvals"],
  "grant.revoked": ["approvals"],
  "lease.used": ["approvals"],
  "wall.opened": ["approvals"],
  "wall.closed": ["approvals"],
  "reminder.sent": ["approvals"],
  "escalation.raised": ["approvals"],
  "escalation.closed": ["approvals"],
  "guard.restored": ["actions", "risk"],
  "block.added": ["risk", "sessions"],
  "block.removed": ["risk", "sessions"],
  "quota.reached": ["risk", "sessions"],
  "monitor.terminated": ["agents"],
  "machine.repaired": ["agents"],
};

/** The messages about an audit event, one for each topic that it belongs to. */
export function toStreamEvents(event: AuditEvent): StreamEvent[] {
  const { type, project_id, seq, at } = event;
  const topics = [...TOPICS[type] ?? [], ...topicsOfSubmitted(event)];
  const id = event.action_id ?? event.session_id;
  return topics.map((topic) => ({ topic, type, project_id, id, seq, at }));
}

/** A held action is news for reviewers, a risky one for whoever watches risk. */
function topicsOfSubmitted({ type, data }: AuditEvent): Topic[] {
  if (type !== "action.submitted") return [];
  const level = (data.risk as { level?: unknown } | undefined)?.level;
  return [
    ...data.status === "pending" ? ["approvals" as const] : [],
    ...level === "high" || level === "critical" ? ["risk" as const] : [],
  ];
}
