import type { Action } from "../actions/schema.ts";
import type { News } from "../config/notifications/schema.ts";
import type { PublishedEvent } from "../events/schema.ts";
import type { AuditEvent } from "../evidence/schema.ts";
import { quote } from "./plain_text.ts";
import type { Message } from "./schema.ts";

/** An event that becomes a message, with the action that it is about. */
export interface Occurrence {
  event: AuditEvent;
  action: Action | null;
  /** The members who may decide now. */
  asked: readonly string[];
}

const TITLES: Record<News, string> = {
  held: "An action waits for your decision",
  reminder: "Reminder: an action still waits for your decision",
  escalation: "Escalation: the approvers have not decided on an action",
  expired: "An action expired: nobody decided in time",
  block: "gate blocked a session",
};

/** The kind of news that an event of the stream is; null if it is none. */
export function newsOf({ topic, type }: Pick<PublishedEvent, "topic" | "type">): News | null {
  if (topic === "risk") return type === "block.added" ? "block" : null;
  if (topic !== "approvals") return null;
  switch (type) {
    // The stream has it in this topic only if it is held.
    case "action.submitted":
      return "held";
    case "reminder.sent":
      return "reminder";
    case "escalation.raised":
      return "escalation";
    case "action.expired":
      return "expired";
    default:
      return null;
  }
}

/** The message about an event. Its title and facts are gate's own; the rest is quoted. */
export function messageOf(
  news: News,
  { event, action, asked }: Occurrence,
  port: number,
): Omit<Message, "to"> {
  const { type, at, project_id, action_id, session_id, data } = event;
  const base = `http://localhost:${port}`;
  const query = new URLSearchParams({ project: project_id, ...action_id && { id: action_id } });
  return {
    type: news === "held" ? "action.held" : type,
    at,
    project_id,
    action_id,
    session_id,
    title: TITLES[news],
    risk: action?.risk.level ?? null,
    deadline: news === "expired" ? null : action?.expires_at ?? null,
    asked: [...asked],
    quoted: [
      ...action === null ? [] : written(action),
      ...news === "block" ? [{ name: "Reason", text: quote(String(data.reason ?? "")) }] : [],
    ],
    link: news === "block"
      ? `${base}/sessions/${session_id ?? ""}?project=${encodeURIComponent(project_id)}`
      : `${base}/approvals?${query}`,
  };
}

function written({ agent, tool, path, command }: Action): Message["quoted"] {
  return [
    { name: "Agent", text: quote(agent) },
    { name: "Tool", text: quote(tool) },
    ...path === null ? [] : [{ name: "Path", text: quote(path) }],
    ...command === null ? [] : [{ name: "Command", text: quote(command) }],
  ];
}

/** The message of `gate notify test`. */
export function testMessage(now: number, port: number): Message {
  return {
    type: "test",
    at: new Date(now).toISOString(),
    project_id: "gate",
    action_id: null,
    session_id: null,
    title: "A test: gate can reach this receiver",
    risk: null,
    deadline: null,
    asked: [],
    quoted: [],
    link: `http://localhost:${port}/settings`,
    to: [],
  };
}
