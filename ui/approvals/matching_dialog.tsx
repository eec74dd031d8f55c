import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Action } from "../../server/actions/schema.ts";
import { RiskBadge } from "../parts/badges.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SentenceLine } from "../parts/sentence.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count, shortHash } from "../parts/words.ts";
import { useKeys } from "../state/keys.ts";
import { explain } from "../state/client.ts";
import { decideAll, type Refused } from "./decide_marked.ts";
import { type Matching, matching } from "./matching.ts";
import { useIsNew } from "./is_new.ts";

/** Asks whether the held actions that match a new grant are approved, too. */
export function MatchingDialog(
  { found, onDecided }: { found: Matching; onDecided: () => void },
) {
  const close = () => void (matching.value = null);
  const { approve, busy, problem, refused } = useApproval(found, { close, onDecided });
  const leave = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => leave.current?.querySelector<HTMLElement>(".button-quiet")?.focus(), []);
  useKeys([{ keys: "mod+enter", label: "Approve them, too", group: "Decide", run: approve }], {
    modal: true,
  });
  const { actions, alone } = found;
  const many = count(actions.length, "held action");
  return (
    <Dialog
      title={refused.length > 0
        ? "Not everything was approved"
        : `${many} ${MATCH(actions.length)}`}
      onClose={close}
      class="dialog-wide"
    >
      <p class="remember-notice tone-danger" role="alert">{problem}</p>
      {refused.length === 0 && (
        <p>
          Each would be allowed if it were submitted now. A line does not show what a file would
          hold: leave an action in the queue to read it. These approvals do not count against the
          limits of what you remembered.
        </p>
      )}
      <ul class="marked-list">
        {(refused.length > 0 ? refused.map(({ action }) => action) : actions).map((action) => (
          <Line key={action.id} action={action} why={whyOf(refused, action)} />
        ))}
      </ul>
      {alone > 0 && (
        <p class="quiet small">
          {count(alone, "more action")} {alone === 1 ? "matches" : "match"} and{" "}
          {alone === 1 ? "stays" : "stay"} in the queue for a review of{" "}
          {alone === 1 ? "its" : "their"} own.
        </p>
      )}
      <div class="decision-buttons" ref={leave}>
        {refused.length === 0 && (
          <Button kind="primary" icon="check" keys="mod+enter" busy={busy} onClick={approve}>
            Approve {count(actions.length, "action")}
          </Button>
        )}
        <Button kind="quiet" keys="escape" onClick={close}>
          {refused.length > 0 ? "Close" : "Leave them in the queue"}
        </Button>
      </div>
    </Dialog>
  );
}

const MATCH = (n: number) =>
  `${n === 1 ? "matches" : "match"}. Approve ${n === 1 ? "it" : "them"} too?`;

function useApproval(
  { actions }: Matching,
  { close, onDecided }: { close: () => void; onDecided: () => void },
) {
  const busy = useSignal(false);
  const isNew = useIsNew();
  const problem = useSignal<string | null>(null);
  const refused = useSignal<Refused[]>([]);
  const approve = async () => {
    if (busy.value || isNew.value || refused.value.length > 0) return;
    busy.value = true;
    problem.value = null;
    try {
      const digests = new Map(actions.map(({ id, digest }) => [id, digest]));
      refused.value = await decideAll("approve", actions, { digests, reason: "" });
      onDecided();
      if (refused.value.length === 0) close();
    } catch (error) {
      problem.value = explain(error);
    } finally {
      busy.value = false;
    }
  };
  return {
    approve: () => void approve(),
    busy: busy.value || isNew.value,
    problem: problem.value,
    refused: refused.value,
  };
}

function whyOf(refused: readonly Refused[], { id }: Action): string | null {
  return refused.find(({ action }) => action.id === id)?.why ?? null;
}

/** An action in full: a cut command could hide its end. */
function Line({ action, why }: { action: Action; why: string | null }) {
  const { cwd, root } = action;
  return (
    <li>
      {action.command === null ? <SentenceLine action={action} /> : <Code value={action.command} />}
      <RiskBadge risk={action.risk} />
      <span class="dotted quiet small">
        <Text as="span" value={action.agent} />
        {cwd !== null && cwd !== root && <Code value={cwd} />}
        <Ago at={action.created_at} said />
        {why === null
          ? <span class="code-text">digest {shortHash(action.digest)}</span>
          : <Text as="span" class="tone-danger" value={why} />}
      </span>
    </li>
  );
}
