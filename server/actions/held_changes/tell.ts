import type { HeldBack } from "../plan.ts";

/** Tells an agent the state of the changes of its command. */
export function tellHeldBack({ action_id, files, why, left_out }: HeldBack): string {
  const rest = left_out.count === 0
    ? ""
    : ` gate takes over none of these: ${
      left_out.files.slice(0, MOST_NAMED)
        .map((one) => `${JSON.stringify(one.path)} (${one.why})`).join(", ")
    }${left_out.count > MOST_NAMED ? ` and ${left_out.count - MOST_NAMED} more` : ""}.`;
  if (action_id !== null) {
    const what = `${files} ${files === 1 ? "file" : "files"}`;
    return `The command worked on a copy of the project, and its changes of ${what} wait for a ` +
      `person as action ${action_id}. The project does not have them yet: call await_action with ` +
      `that id before you go on.${rest}`;
  }
  if (why !== null) {
    return `The command worked on a copy of the project, and nothing of it was taken over: ${why}. ` +
      `The project is unchanged.${rest}`;
  }
  return `The command worked on a copy of the project and left no change to take over.${rest}`;
}

const MOST_NAMED = 5;
