import { useLayoutEffect, useRef } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Outcome } from "../parts/badges.tsx";
import { Button, Key } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { useLazy } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { count, shortHash } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { connection } from "../state/events.ts";
import { marks } from "./marks.ts";
import { editableOf } from "../card/card.tsx";
import { snoozeOf } from "./snoozes.ts";
import { SnoozeStep } from "./snooze_step.tsx";
import { TypedField } from "./typed_field.tsx";
import { type Caution, isAsIs, refusalOf, type Review } from "./review.ts";

interface BarProps {
  review: Review;
  detail: ActionDetail;
  onReadOn: () => void;
  onSnoozed: () => void;
  href: string;
}

/** The bar with the decision buttons; it never scrolls away. */
export function DecisionBar({ review, detail, onReadOn, onSnoozed, href }: BarProps) {
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
        : mode === "snooze"
        ? <SnoozeStep review={review} detail={detail} onSnoozed={onSnoozed} />
        : mode === "edit" || mode === "check"
        ? <Editing review={review} step={mode} />
        : <Choices review={review} detail={detail} />}
    </footer>
  );
}

function Choices({ review, detail }: { review: Review; detail: ActionDetail }) {
  const editable = editableOf(detail) !== null;
  const isLocked = review.isLocked.value || !review.ready.value;
  // An approval that would be refused is not offered.
  const isRefused = refusalOf(detail) !== null;
  // No decision reaches a daemon that does not answer.
  const isOffline = connection.value === "offline";
  return (
    <div class="decision-row">
      <div class="decision-buttons">
        {!isRefused && (
          <Button
            kind="primary"
            icon="check"
            keys="a"
            busy={isLocked}
            disabled={isOffline}
            onClick={() => review.approve()}
          >
            Approve
          </Button>
        )}
        <Button
          kind={isRefused ? "primary" : "plain"}
          icon="x"
          keys="r"
          disabled={isOffline}
          onClick={() => review.open("reject")}
        >
          Reject
        </Button>
        {!isAsIs(detail) && (
          <Button
            icon="pencil"
            keys="e"
            disabled={!editable || isOffline}
            title={editable ? undefined : whyNotEdited(detail)}
            onClick={() => review.open("edit")}
          >
            Edit
          </Button>
        )}
        {isRefused && <Button kind="quiet" onClick={() => review.lookAgain()}>Check again</Button>}
        {!isRefused && !isAsIs(detail) && <RememberButton review={review} disabled={isOffline} />}
        {!isRefused && detail.walls && (
          <Button
            icon="unlock"
            keys="w"
            disabled={isOffline}
            onClick={() => review.open("wall")}
          >
            Open a wall
          </Button>
        )}
      </div>
      {detail.command !== null && <Permit review={review} />}
      {detail.taken_from && <Part review={review} detail={detail} />}
      <p class="quiet small digest" title={`SHA-256 of the plan: ${detail.digest}`}>
        <span>
          {isOffline
            ? "No decision can be made while the daemon does not answer"
            : isRefused
            ? "An approval would be refused, so it is not offered"
            : review.left.value.size > 0
            ? "You are approving the marked files and no others"
            : "You are approving exactly what is shown"}
        </span>{" "}
        <span class="digest-hash code-text">digest {shortHash(detail.digest)}</span>
      </p>
      {!isRefused && <ForLater review={review} detail={detail} />}
    </div>
  );
}

function ForLater({ review, detail }: { review: Review; detail: ActionDetail }) {
  const address = useAddress();
  return (
    <div class="decision-later">
      <Button
        kind="quiet"
        keys="x"
        pressed={marks.value.get(detail.id) === detail.digest}
        onClick={() => review.mark()}
      >
        Mark
      </Button>
      <Button kind="quiet" keys="z" onClick={() => review.open("snooze")}>
        {snoozeOf(detail) ? "Bring back" : "Snooze"}
      </Button>
      <Button kind="quiet" keys="o" onClick={() => address.go(`/actions/${detail.id}`)}>
        Record
      </Button>
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

/** Loaded only for the changes of a command. */
function Part(props: { review: Review; detail: ActionDetail }) {
  const { value } = useLazy(() => import("./take_part.tsx"));
  return value && <value.TakePart {...props} />;
}

function whyNotEdited({ input }: ActionDetail): string {
  if (input === null) return "Only text and commands can be edited";
  return "The agent host executes its own input: reject the action and say what to do instead";
}

function RememberButton({ review, disabled }: { review: Review; disabled: boolean }) {
  return (
    <Button
      icon="clock"
      keys="m"
      disabled={disabled}
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
      {review.notes.value.length > 0 && (
        <p class="quiet small">Sends {count(review.notes.value.length, "comment")} on lines too</p>
      )}
      {review.settled.value.length > 0 && (
        <p class="quiet small">Settles {count(review.settled.value.length, "comment")}</p>
      )}
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
  const isPlain = (review.detail.value?.confirmation ?? null) === null;
  useLayoutEffect(() => {
    if (isPlain) step.current?.focus();
  }, []);
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
      <TypedField review={review} onEnter={() => review.approve(true)} />
      <div class="decision-buttons">
        {unread && <Button kind="primary" keys="space" onClick={onReadOn}>Read on</Button>}
        <Button
          kind={unread ? "plain" : "primary"}
          icon="check"
          keys="y"
          busy={review.isLocked.value}
          disabled={!review.isTyped.value}
          onClick={() => review.approve(true)}
        >
          {cautions.length > 0 ? "Approve anyway" : "Approve"}
        </Button>
        <Button kind="quiet" keys="escape" onClick={() => review.close()}>Back</Button>
      </div>
    </div>
  );
}

const loadEditSteps = () => import("./edit_steps.tsx");

/** Loaded only for an edit. */
function Editing(props: { review: Review; step: "edit" | "check" }) {
  const { value } = useLazy(loadEditSteps);
  return value && <value.EditSteps {...props} />;
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
