import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { RiskBadge } from "../parts/badges.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SentenceLine } from "../parts/sentence.tsx";
import { Text } from "../parts/text.tsx";
import { count, shortHash } from "../parts/words.ts";
import { explain } from "../state/client.ts";
import { decideMarked, listMarked, type Refused, type Verb } from "./decide_marked.ts";
import { useIsNew } from "./is_new.ts";
import { marks } from "./marks.ts";

interface MarkedProps {
  /** The ids in the list; a marked card outside of it is not decided. */
  listed: ReadonlySet<string>;
  onClose: () => void;
  /** Called once at least one card was decided. */
  onDecided: () => void;
}

/** Lists the marked cards, and approves or rejects all of them after one confirmation. */
export function MarkedDialog({ listed, onClose, onDecided }: MarkedProps) {
  const { send, busy, problem, refused, reason } = useDecision(listed, { onClose, onDecided });
  const marked = listMarked(listed);
  const first = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => first.current?.querySelector("button")?.focus(), []);
  const many = count(marked.length, "action");
  return (
    <Dialog
      title={refused.length > 0 ? "Not everything was decided" : `Decide on ${many}`}
      onClose={onClose}
      class="dialog-wide"
    >
      <p class="remember-notice tone-danger" role="alert">{problem}</p>
      <ul class="marked-list">
        {refused.map(({ action, why }) => (
          <Line key={action.id} action={action}>
            <Text as="span" class="tone-danger small" value={why} />
          </Line>
        ))}
        {marked.map((action) => (
          <Line key={action.id} action={action}>
            <span class="quiet small code-text">
              digest {shortHash(marks.value.get(action.id)!)}
            </span>
          </Line>
        ))}
      </ul>
      {marked.length > 0 && (
        <label class="marked-reason">
          Reason <span class="quiet">(optional; the agent sees it)</span>
          <textarea
            rows={2}
            maxLength={4000}
            value={reason.value}
            onInput={(event) => reason.value = event.currentTarget.value}
          />
        </label>
      )}
      <div class="decision-buttons" ref={first}>
        {marked.length > 0 && (
          <>
            <Button kind="primary" icon="check" busy={busy} onClick={() => send("approve", marked)}>
              Approve {many}
            </Button>
            <Button kind="danger" icon="x" busy={busy} onClick={() => send("reject", marked)}>
              Reject {many}
            </Button>
          </>
        )}
        <Button kind="quiet" keys="escape" onClick={onClose}>
          {marked.length > 0 ? "Back" : "Close"}
        </Button>
      </div>
    </Dialog>
  );
}

function useDecision(
  listed: ReadonlySet<string>,
  { onClose, onDecided }: Pick<MarkedProps, "onClose" | "onDecided">,
) {
  const busy = useSignal(false);
  const isNew = useIsNew();
  const problem = useSignal<string | null>(null);
  const refused = useSignal<Refused[]>([]);
  const reason = useSignal("");
  const send = async (verb: Verb, actions: readonly Action[]) => {
    if (busy.value || isNew.value) return;
    busy.value = true;
    problem.value = null;
    try {
      refused.value = await decideMarked(verb, actions, reason.value.trim());
      onDecided();
      if (refused.value.length === 0 && listMarked(listed).length === 0) onClose();
    } catch (error) {
      problem.value = explain(error);
    } finally {
      busy.value = false;
    }
  };
  const isBusy = busy.value || isNew.value;
  return { send, busy: isBusy, problem: problem.value, refused: refused.value, reason };
}

function Line({ action, children }: { action: Action; children: ComponentChildren }) {
  return (
    <li>
      <SentenceLine action={action} />
      <RiskBadge risk={action.risk} />
      <span class="dotted quiet small">
        <Text as="span" value={action.agent} />
        <Text as="span" value={action.project_id} />
        {children}
      </span>
    </li>
  );
}
