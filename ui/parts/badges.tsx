import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import type { Risk } from "../../server/risk/schema.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Text } from "./text.tsx";
import { Ago } from "./time.tsx";
import { deciderOf } from "./words.ts";

const TOOLS: Record<string, IconName> = {
  write_file: "pencil",
  edit_file: "pencil",
  delete_file: "trash",
  move_file: "move",
  read_file: "eye",
  run_command: "terminal",
  rollback: "rollback",
  apply_changes: "pencil",
  Write: "pencil",
  Edit: "pencil",
  MultiEdit: "pencil",
  NotebookEdit: "pencil",
  apply_patch: "pencil",
  Read: "eye",
};

const RISKS: Record<Risk["level"], IconName> = {
  low: "dot",
  medium: "info",
  high: "alert",
  critical: "octagon",
};

interface State {
  icon: IconName;
  word: string;
  tone: string;
}

const STATUSES: Record<Action["status"], State> = {
  pending: { icon: "clock", word: "held", tone: "info" },
  approved: { icon: "check", word: "approved", tone: "ok" },
  rejected: { icon: "x", word: "rejected", tone: "danger" },
  blocked: { icon: "ban", word: "blocked", tone: "danger" },
  expired: { icon: "clock", word: "expired", tone: "quiet" },
  cancelled: { icon: "x", word: "cancelled", tone: "quiet" },
  rolled_back: { icon: "rollback", word: "rolled back", tone: "warn" },
};

/** The word for "approved" when the policy decided, not a person. */
const ALLOWED: State = { icon: "allowed", word: "allowed", tone: "ok" };

const EXECUTIONS: Record<Action["execution"], State> = {
  none: { icon: "dot", word: "not executed", tone: "quiet" },
  running: { icon: "clock", word: "running", tone: "info" },
  succeeded: { icon: "check", word: "done", tone: "quiet" },
  failed: { icon: "alert", word: "failed", tone: "danger" },
  unknown: { icon: "help", word: "outcome unknown", tone: "warn" },
};

/** The icon for the tool of an action. */
export function ToolIcon({ action: { tool, command } }: { action: Action }) {
  const name = TOOLS[tool] ?? (command === null ? "plug" : "terminal");
  return <Icon name={name} class="tool-icon" />;
}

/** The risk level in one word. */
export function RiskBadge({ risk }: { risk: Risk }) {
  return (
    <span class={`badge risk-${risk.level}`} title={`risk ${risk.score} of 100`}>
      <Icon name={RISKS[risk.level]} />
      {risk.level}
    </span>
  );
}

/** The decision in one word. */
export function StatusBadge({ action }: { action: Pick<Action, "status" | "decided_by"> }) {
  return <StateBadge state={stateOf(action)} />;
}

/** The outcome of the execution in one word. */
export function ExecutionBadge({ execution }: { execution: Action["execution"] }) {
  return <StateBadge state={EXECUTIONS[execution]} />;
}

/** The word for a decision inside a sentence: a person approves, the policy allows. */
export function decisionWord(action: Pick<Action, "status" | "decided_by">): string {
  return stateOf(action).word;
}

function stateOf({ status, decided_by }: Pick<Action, "status" | "decided_by">): State {
  return status === "approved" && decided_by === "policy" ? ALLOWED : STATUSES[status];
}

/** The word for a status inside a sentence. */
export function statusWord(status: Action["status"]): string {
  return STATUSES[status].word;
}

function StateBadge({ state }: { state: State }) {
  return (
    <span class={`badge tone-${state.tone}`}>
      <Icon name={state.icon} />
      {state.word}
    </span>
  );
}

/** The decision and the execution of one action, and who decided when. */
export function Outcome({ detail }: { detail: ActionDetail }) {
  return (
    <p class="settled">
      <StatusBadge action={detail} />
      {detail.execution !== "none" && <ExecutionBadge execution={detail.execution} />}
      {detail.decided_at && (
        <span class="quiet">
          by <Text value={deciderOf(detail)} />, <Ago at={detail.decided_at} said />
        </span>
      )}
    </p>
  );
}
