import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { useAddress } from "../router.ts";
import type { SessionRecord } from "../session.ts";
import { count } from "../words.ts";
import { ExecutionBadge, StatusBadge, ToolIcon } from "./badges.tsx";
import { SentenceLine } from "./sentence.tsx";
import { Ago } from "./time.tsx";

interface StepsProps {
  record: SessionRecord;
  /** The action that is looked at; null is the whole session. */
  chosen: string | null;
}

/** What an agent asked for in one session, oldest first; each shows what it changed. */
export function SessionSteps({ record: { actions, isCut, session }, chosen }: StepsProps) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <section class="steps" aria-label="What it asked for">
      <h2 class="visually-hidden">What it asked for</h2>
      <ol ref={list}>
        <li>
          <Step id={null} chosen={chosen}>
            <span class="sentence-verb">The whole session</span>
            <span class="quiet">{count(session.action_count, "action")}</span>
          </Step>
        </li>
        {isCut && <li class="quiet steps-note">The newest {count(actions.length, "action")}:</li>}
        {actions.map((action) => (
          <li key={action.id}>
            <ActionStep action={action} chosen={chosen} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function ActionStep({ action, chosen }: { action: Action; chosen: string | null }) {
  return (
    <Step id={action.id} chosen={chosen}>
      <ToolIcon action={action} />
      <span class="step-words">
        <SentenceLine action={action} />
        <span class="step-meta">
          <StatusBadge status={action.status} />
          {/^(?:failed|unknown|running)$/.test(action.execution) && (
            <ExecutionBadge execution={action.execution} />
          )}
          <Ago at={action.created_at} />
        </span>
      </span>
    </Step>
  );
}

interface StepProps {
  id: string | null;
  chosen: string | null;
  children: preact.ComponentChildren;
}

function Step({ id, chosen, children }: StepProps) {
  const address = useAddress();
  return (
    <button
      type="button"
      class="step"
      aria-current={id === chosen ? "true" : undefined}
      onClick={() => address.set({ action: id })}
    >
      {children}
    </button>
  );
}
