import type { Action } from "../actions/schema.ts";

/** Told to an agent whose call waits for a person. */
export function heldText({ id, decision: { reason } }: Action): string {
  return `Held by gate (action ${id}): ${reason}. A person has to decide; nothing was done. ` +
    "Ask again with exactly the same call: once it is approved it goes through, one time.";
}

/** Told to an agent whose call is refused: the rule, the reason and what to do instead. */
export function refusalText(action: Action): string {
  const { id, status, reason, decision, error } = action;
  const { rule, alternative } = decision;
  if (status === "rejected") {
    return `Rejected by a person (action ${id})${
      reason ? `: ${reason}` : ""
    }. Do not try it again.`;
  }
  if (status === "blocked") {
    const which = rule ? ` (rule "${rule.pattern}" in ${rule.list})` : "";
    const instead = alternative ? ` Instead: ${alternative}` : "";
    return `Blocked by gate: ${decision.reason}${which}.${instead} (action ${id})`;
  }
  if (status === "expired") return `Nobody decided in time on action ${id}: ${decision.reason}`;
  return `Blocked by gate: action ${id} is ${status}${error ? `: ${error}` : ""}`;
}
