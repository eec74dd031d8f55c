import { expect, test } from "vitest";
import { AuditType } from "../../../server/evidence/schema.ts";
import { toStreamEvents } from "../../../server/events/topics.ts";

const event = (type: string, data: Record<string, unknown> = {}) => ({
  seq: 7,
  at: "2026-01-01T00:00:00.000Z",
  project_id: "p",
  session_id: "s",
  action_id: type.startsWith("session") ? null : "a",
  type: AuditType.parse(type),
  actor: { kind: "agent" as const, id: "x" },
  data,
  prev_hash: "",
  hash: "",
});

test.each([
  ["action.submitted", { status: "pending" }, ["actions", "approvals"]],
  ["action.submitted", { status: "approved" }, ["actions"]],
  ["action.submitted", { status: "blocked", risk: { level: "critical" } }, ["actions", "risk"]],
  ["action.approved", {}, ["actions", "approvals"]],
  ["action.rejected", {}, ["actions", "approvals"]],
  ["action.expired", {}, ["actions", "approvals"]],
  ["action.cancelled", {}, ["actions", "approvals"]],
  ["action.finished", {}, ["actions"]],
  ["action.rolled_back", {}, ["actions", "sessions"]],
  ["session.started", {}, ["sessions"]],
  ["session.ended", {}, ["sessions"]],
  ["grant.added", {}, ["approvals"]],
  ["grant.used", {}, ["approvals"]],
  ["grant.revoked", {}, ["approvals"]],
  ["escalation.raised", {}, ["approvals"]],
  ["block.added", {}, ["risk", "sessions"]],
  ["guard.restored", {}, ["actions", "risk"]],
  ["monitor.terminated", {}, ["agents"]],
  ["machine.repaired", {}, ["agents"]],
  ["policy.changed", {}, ["approvals"]],
])("%s %j is published under %j", (type, data, topics) => {
  const told = toStreamEvents(event(type, data));
  expect(told.map(({ topic }) => topic)).toEqual(topics);
  for (const { id, seq, project_id } of told) {
    expect({ id, seq, project_id }).toEqual({
      id: type.startsWith("session") ? "s" : "a",
      seq: 7,
      project_id: "p",
    });
  }
});
