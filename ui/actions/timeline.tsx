import { type ComponentChildren, Fragment } from "preact";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { exactOf } from "../parts/words.ts";

type Step = ActionDetail["timeline"][number];

interface Look {
  icon: IconName;
  word: string;
  tone: string;
}

const STEPS: Record<string, Look> = {
  "action.submitted": { icon: "dot", word: "Submitted", tone: "quiet" },
  "action.approved": { icon: "check", word: "Approved", tone: "ok" },
  "action.rejected": { icon: "x", word: "Rejected", tone: "danger" },
  "action.edited": { icon: "pencil", word: "Edited by the reviewer", tone: "info" },
  "action.expired": { icon: "clock", word: "Expired", tone: "quiet" },
  "action.cancelled": { icon: "x", word: "Cancelled by the agent", tone: "quiet" },
  "action.started": { icon: "clock", word: "Started", tone: "info" },
  "action.finished": { icon: "check", word: "Done", tone: "ok" },
  "action.rolled_back": { icon: "rollback", word: "Rolled back", tone: "warn" },
  "action.replayed": { icon: "replay", word: "Replayed as a new action", tone: "info" },
  "grant.added": { icon: "clock", word: "Remembered", tone: "info" },
  "grant.used": { icon: "allowed", word: "Allowed by a remembered approval", tone: "info" },
  "wall.opened": { icon: "unlock", word: "Wall of the sandbox opened", tone: "warn" },
  "wall.closed": { icon: "ban", word: "Wall of the sandbox closed", tone: "quiet" },
  "grant.revoked": { icon: "ban", word: "Remembered approval revoked", tone: "quiet" },
  "guard.restored": { icon: "alert", word: "Changes of guarded files undone", tone: "danger" },
  "block.added": { icon: "ban", word: "Session blocked", tone: "danger" },
  "vote.cast": { icon: "check", word: "Vote", tone: "info" },
};

/** The events of an action in the audit log. */
export function Timeline({ detail }: { detail: ActionDetail }) {
  return (
    <section class="life" aria-label="What happened">
      <h2>What happened</h2>
      <ol class="timeline">
        {detail.timeline.map((step) => (
          <Fragment key={step.seq}>
            <StepView step={step} detail={detail} />
            {step.data["status"] === "pending" && (
              <Entry look={HELD} reason={detail.decision.reason} />
            )}
          </Fragment>
        ))}
      </ol>
    </section>
  );
}

const HELD: Look = { icon: "clock", word: "Held for a person", tone: "info" };

interface EntryProps {
  look: Look;
  reason: unknown;
  children?: ComponentChildren;
}

function Entry({ look: { icon, word, tone }, reason, children }: EntryProps) {
  return (
    <li class={`tone-${tone}`}>
      <Icon name={icon} />
      <div>
        <p class="timeline-word">{word}</p>
        {children}
        {typeof reason === "string" && reason !== "" && (
          <Text as="p" class="timeline-reason" value={reason} />
        )}
      </div>
    </li>
  );
}

function StepView({ step, detail }: { step: Step; detail: ActionDetail }) {
  // The next step shows the reason for holding.
  const reason = step.type === "action.submitted" ? null : step.data["reason"];
  return (
    <Entry look={lookOf(step, detail)} reason={reason}>
      <p class="quiet small timeline-meta">
        <Text value={actorOf(step)} />
        <Ago at={step.at} said />
        <span title={`${exactOf(step.at)}, event ${step.seq} of the audit log`}>
          audit #{step.seq}
        </span>
      </p>
    </Entry>
  );
}

function lookOf({ type, actor }: Step, { execution }: ActionDetail): Look {
  if (type === "action.finished" && execution === "failed") {
    return { icon: "alert", word: "Failed", tone: "danger" };
  }
  if (type === "action.rejected" && actor.kind === "policy") {
    return { icon: "ban", word: "Blocked", tone: "danger" };
  }
  if (type === "action.approved" && actor.kind === "policy") {
    return { icon: "allowed", word: "Allowed", tone: "ok" };
  }
  return STEPS[type] ?? { icon: "dot", word: type, tone: "quiet" };
}

function actorOf({ actor, type, data }: Step): string {
  // The gate records the rollback; the event names the person who asked for it.
  if (type === "action.rolled_back" && typeof data["by"] === "string") return data["by"];
  if (actor.kind === "policy") return "the policy";
  if (actor.kind === "system") return "gate";
  return actor.kind === "agent" ? `agent ${actor.id}` : actor.id;
}
