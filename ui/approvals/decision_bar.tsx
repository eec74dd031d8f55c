import { useLayoutEffect, useRef } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Outcome } from "../parts/badges.tsx";
import { Button, Key } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { shortHash } from "../parts/words.ts";
import { marks } from "./marks.ts";
import { editableOf } from "../card/card.tsx";
import type { Caution, Review } from "./review.ts";

interface BarProps {
  review: Review;
  detail: ActionDetail;
  onReadOn: () => void;
  href: string;
}

/** The bar with the decision buttons; it never scrolls away. */
export function DecisionBar({ review, detail, onReadOn, href }: BarProps) {
  const mode = review.mode.value;
  return (
    <footer class="decision" aria-label="Decision">
      <p class="decision-notice" role="status">{review.notice.value}</p>
      {detail.status !== "pending"
        ? <Decided detail={detail} href={href} />
        : mode === "reject"
        ? <RejectStep review={review} />
        : mode === "confirm"
        ? <ConfirmStep review={review} onReadOn={onReadOn} />
        : mode === "edit"
        ? <EditStep review={review} />
        : mode === "check"
        ? <CheckStep review={review} />
        : <Choices review={review} detail={detail} />}
    </footer>
  );
}

function Choices({ review, detail }: { review: Review; detail: ActionDetail }) {
  const editable = editableOf(detail) !== null;
  const isLocked = review.isLocked.value || !review.ready.value;
  return (
    <div class="decision-row">
      <div class="decision-buttons">
        <Button
          kind="primary"
          icon="check"
          keys="a"
          busy={isLocked}
          onClick={() => review.approve()}
        >
          Approve
        </Button>
        <Button icon="x" keys="r" onClick={() => review.open("reject")}>Reject</Button>
        <Button
          icon="pencil"
          keys="e"
          disabled={!editable}
          title={editable ? undefined : whyNotEdited(detail)}
          onClick={() => review.open("edit")}
        >
          Edit
        </Button>
        <RememberButton review={review} />
        <Button
          kind="quiet"
          keys="x"
          pressed={marks.value.get(detail.id) === detail.digest}
          onClick={() => review.mark()}
        >
          Mark
        </Button>
      </div>
      {detail.command !== null && <Permit review={review} />}
      <p class="quiet small digest" title={`SHA-256 of the plan: ${detail.digest}`}>
        You are approving exactly what is shown
        <span class="digest-hash code-text">digest {shortHash(detail.digest)}</span>
      </p>
    </div>
  );
}

const PLACES = [".git/config", ".git/hooks", ".husky"] as const;

/** Lets one run change what gate otherwise undoes, such as git hooks that a package installs. */
function Permit({ review }: { review: Review }) {
  const permit = review.permit.value;
  return (
    <details class="permit small" open={permit.length > 0}>
      <summary>
        {permit.length > 0 ? `May change ${permit.join(" and ")}` : "May not change git’s hooks"}
      </summary>
      <fieldset>
        <legend>Let this run change, without gate undoing it:</legend>
        {PLACES.map((place) => (
          <label key={place}>
            <input
              type="checkbox"
              checked={permit.includes(place)}
              onChange={() => review.turnPermit(place)}
            />
            <code>{place}</code>
          </label>
        ))}
      </fieldset>
    </details>
  );
}

function whyNotEdited({ input }: ActionDetail): string {
  if (input === null) return "Only text and commands can be edited";
  return "The agent host executes its own input: reject the action and say what to do instead";
}

function RememberButton({ review }: { review: Review }) {
  return (
    <Button
      icon="clock"
      keys="m"
      title="Approve, and do not ask again for a while"
      onClick={() => review.open("remember")}
    >
      Remember
    </Button>
  );
}

function RejectStep({ review }: { review: Review }) {
  return (
    <form
      class="decision-step"
      onSubmit={(event) => {
        event.preventDefault();
        review.reject();
      }}
    >
      <label for="reject-reason">
        Reason for the agent <span class="quiet">(optional)</span>
      </label>
      <ReasonField review={review} />
      <div class="decision-buttons">
        <button
          type="submit"
          class="button button-danger"
          aria-disabled={review.isLocked.value ? "true" : undefined}
        >
          <Icon name="x" />
          <span>Reject</span>
          <Key keys="enter" />
        </button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>Back</Button>
      </div>
    </form>
  );
}

function ReasonField({ review }: { review: Review }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <textarea
      id="reject-reason"
      ref={field}
      rows={2}
      maxLength={4000}
      value={review.reason.value}
      onInput={(event) => review.reason.value = event.currentTarget.value}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        review.reject();
      }}
    />
  );
}

function ConfirmStep({ review, onReadOn }: { review: Review; onReadOn: () => void }) {
  const step = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => step.current?.focus(), []);
  const cautions = review.cautions.value;
  const unread = cautions.some((caution) => caution.kind === "unread");
  return (
    <div
      class="decision-step"
      ref={step}
      tabIndex={-1}
      role="group"
      aria-label="Before you approve"
    >
      <p class="decision-title">Before you approve</p>
      <Cautions cautions={cautions} />
      <div class="decision-buttons">
        {unread && <Button kind="primary" keys="space" onClick={onReadOn}>Read on</Button>}
        <Button
          kind={unread ? "plain" : "primary"}
          icon="check"
          keys="y"
          busy={review.isLocked.value}
          onClick={() => review.approve(true)}
        >
          {cautions.length > 0 ? "Approve anyway" : "Approve"}
        </Button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>Back</Button>
      </div>
    </div>
  );
}

function EditStep({ review }: { review: Review }) {
  const same = review.draft.value === editableOf(review.detail.value!);
  return (
    <div class="decision-row">
      <div class="decision-buttons">
        <Button
          kind="primary"
          keys="mod+enter"
          disabled={same}
          onClick={() => review.open("check")}
        >
          Review your change
        </Button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>Back</Button>
      </div>
      <p class="quiet small digest">
        {same ? "You have not changed anything yet" : "Your version will be executed"}
      </p>
    </div>
  );
}

function CheckStep({ review }: { review: Review }) {
  return (
    <div class="decision-row">
      <div class="decision-buttons">
        <Button
          kind="primary"
          icon="check"
          keys="mod+enter"
          busy={review.isLocked.value}
          onClick={() => review.approveEdited()}
        >
          Approve with edit
        </Button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>
          Back to the editor
        </Button>
      </div>
      <p class="quiet small digest">The agent sees your changes</p>
    </div>
  );
}

function Decided({ detail, href }: { detail: ActionDetail; href: string }) {
  return (
    <div class="decision-row">
      <Outcome detail={detail} />
      <div class="decision-buttons">
        <a class="button button-plain" href={href}>
          Open the record
          <Key keys="enter" />
        </a>
      </div>
    </div>
  );
}

/** The warnings to read before approving. */
export function Cautions({ cautions }: { cautions: Caution[] }) {
  return (
    <ul class="cautions">
      {cautions.map(({ kind, title, why }) => (
        <li key={kind}>
          <Icon name={kind === "critical" ? "octagon" : "alert"} />
          <span>
            <strong>{title}.</strong> <Text value={why} />
          </span>
        </li>
      ))}
      {cautions.length === 0 && (
        <li class="tone-ok">
          <Icon name="check" />
          <span>You have seen everything.</span>
        </li>
      )}
    </ul>
  );
}
