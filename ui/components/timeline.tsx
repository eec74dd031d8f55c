import type { ActionDetail } from "../../server/actions/schema.ts";
import { exactOf } from "../words.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Text } from "./text.tsx";
import { Ago } from "./time.tsx";

type Step = ActionDetail["timeline"][number];

const STEPS: Record<string, { icon: IconName; word: string; tone: string }> = {
  "action.submitted": { icon: "dot", word: "Submitted", tone: "quiet" },
  "action.approved": { icon: "check", word: "Approved", tone: "ok" },
  "action.rejected": { icon: "x", word: "Rejected", tone: "danger" },
  "action.edited": { icon: "pencil", word: "Edited by the reviewer", tone: "info" },
  "action.expired": { icon: "clock", word: "Expired", tone: "quiet" },
  "action.cancelled": { icon: "x", word: "Withdrawn by the agent", tone: "quiet" },
  "action.started": { icon: "clock", word: "Started", tone: "info" },
  "action.finished": { icon: "check", word: "Done", tone: "ok" },
  "action.rolled_back": { icon: "undo", word: "Rolled back", tone: "warn" },
  "action.replayed": { icon: "replay", word: "Replayed as a new action", tone: "info" },
  "vote.cast": { icon: "check", word: "Vote", tone: "info" },
};

/** The life of an action, step by step, as the audit chain has it. */
export function Timeline({ detail }: { detail: ActionDetail }) {
  return (
    <section class="life" aria-label="What happened">
      <h2>What happened</h2>
      <ol class="timeline">
        {detail.timeline.map((step) => <StepView key={step.seq} step={step} detail={detail} />)}
        {detail.status === "pending" && (
          <li class="tone-info">
            <Icon name="clock" />
            <div>
              <p class="timeline-word">Held: waits for a person</p>
            </div>
          </li>
        )}
      </ol>
    </section>
  );
}

function StepView({ step, detail }: { step: Step; detail: ActionDetail }) {
  const { icon, word, tone } = STEPS[step.type] ?? { icon: "dot", word: step.type, tone: "quiet" };
  const failed = step.type === "action.finished" && detail.execution === "failed";
  const reason = step.data["reason"];
  return (
    <li class={`tone-${failed ? "danger" : tone}`}>
      <Icon name={failed ? "alert" : icon} />
      <div>
        <p class="timeline-word">{failed ? "Failed" : word}</p>
        <p class="timeline-meta">
          <Text value={actorOf(step)} />
          <Ago at={step.at} />
          <span title={`${exactOf(step.at)}, event ${step.seq} of the audit chain`}>
            audit #{step.seq}
          </span>
        </p>
        {typeof reason === "string" && reason !== "" && (
          <p class="timeline-reason">
            <Text value={reason} />
          </p>
        )}
      </div>
    </li>
  );
}

function actorOf({ actor }: Step): string {
  if (actor.kind === "policy") return "the policy";
  if (actor.kind === "system") return "the gate";
  return actor.id;
}
