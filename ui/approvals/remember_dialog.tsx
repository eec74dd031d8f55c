import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { GrantOffer, GrantPreview } from "../../server/grants/schema.ts";
import { statusWord } from "../parts/badges.tsx";
import { Button, Segmented, type SegmentedProps } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Problem } from "../parts/problem.tsx";
import { RejectedOnes } from "../parts/rejected_ones.tsx";
import { Code, Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { count, number } from "../parts/words.ts";
import { useKeys } from "../state/keys.ts";
import { DialogFoot } from "./dialog_foot.tsx";
import { Remembering, TIMES, USES } from "./remembering.ts";
import type { Review } from "./review.ts";

interface Props {
  review: Review;
  detail: ActionDetail;
}

/** Approves an action and creates a grant: its pattern, scope, lifetime and number of uses. */
export function RememberDialog({ review, detail }: Props) {
  const remembering = useMemo(() => new Remembering(detail), [detail.digest]);
  useEffect(() => void remembering.look(), [remembering]);
  const save = () => {
    const wanted = remembering.wanted();
    if (wanted) review.approveRemembered(wanted);
  };
  useKeys([{ keys: "mod+enter", label: "Approve and remember", group: "Decide", run: save }], {
    modal: true,
  });
  const preview = remembering.preview.value;
  return (
    <Dialog
      title="Approve and remember"
      onClose={() => review.close()}
      class="dialog-wide dialog-remember"
    >
      {preview?.refused ? <Refused why={preview.refused} /> : (
        <div class="remember">
          {preview
            ? <Offers remembering={remembering} preview={preview} />
            : remembering.problem.value === null && <Skeleton lines={6} />}
          <Problem problem={remembering.problem.value} />
          {preview && <OwnPattern remembering={remembering} />}
          <Limits remembering={remembering} />
          <DialogFoot
            review={review}
            verb={review.cautions.value.length > 0
              ? "Approve anyway and remember"
              : "Approve and remember"}
            isReady={remembering.chosen.value !== null}
            busy={remembering.busy.value}
            save={save}
          />
        </div>
      )}
    </Dialog>
  );
}

function Refused({ why }: { why: string }) {
  return (
    <div class="remember">
      <p class="notice tone-warn">
        <Icon name="alert" />
        <span>
          This cannot be remembered: <Text value={why} />. Approve it once.
        </span>
      </p>
    </div>
  );
}

interface OffersProps {
  remembering: Remembering;
  preview: GrantPreview;
}

function Offers({ remembering, preview }: OffersProps) {
  const { looked_at, complete, offers } = preview;
  const field = useRef<HTMLFieldSetElement>(null);
  // With the focus on the first option, the arrow keys choose at once.
  useLayoutEffect(() => field.current?.querySelector("input")?.focus(), []);
  return (
    <fieldset class="offers" ref={field}>
      <legend>
        What to allow{" "}
        <span class="quiet">
          and how many actions of the last 30 days match ({complete ? "" : "the newest "}
          {count(looked_at, "action")} checked)
        </span>
      </legend>
      {offers.map((offer) => (
        <Offer key={offer.pattern ?? ""} remembering={remembering} offer={offer} />
      ))}
    </fieldset>
  );
}

function Offer({ remembering, offer }: { remembering: Remembering; offer: GrantOffer }) {
  const { pattern, says, matched } = offer;
  const isChosen = remembering.pattern.value === pattern;
  return (
    <div class={`offer ${isChosen ? "offer-chosen" : ""}`}>
      <label>
        <input
          type="radio"
          name="offer"
          checked={isChosen}
          onChange={() => remembering.pattern.value = pattern}
        />
        <span class="offer-name">
          {pattern === null ? "Exactly this" : <Code value={pattern} />}
        </span>
        <span class="quiet small">
          {matched.count === 0 ? "none" : `${number(matched.count)} ×`}
        </span>
        <Text as="span" class="quiet small offer-says" value={says} />
      </label>
      <RejectedOnes rejected={matched.rejected} />
      {isChosen && <Matched matched={matched} />}
    </div>
  );
}

function Matched({ matched }: { matched: GrantOffer["matched"] }) {
  if (matched.count === 0) {
    return <p class="quiet small offer-none">No other action matches so far.</p>;
  }
  const more = matched.count - matched.newest.length;
  return (
    <ul class="small matched" aria-label="Matching actions">
      {matched.newest.map((one) => (
        <li key={one.id}>
          <Code value={one.command ?? one.path ?? one.tool} />
          <span class={one.status === "rejected" ? "tone-danger" : "quiet"}>
            {statusWord(one.status as ActionDetail["status"])}
          </span>
          <span class="quiet">
            <Ago at={one.created_at} said />
          </span>
        </li>
      ))}
      {more > 0 && <li class="quiet">and {number(more)} more</li>}
    </ul>
  );
}

function OwnPattern({ remembering }: { remembering: Remembering }) {
  return (
    <form
      class="own-pattern"
      onSubmit={(event) => {
        event.preventDefault();
        remembering.tryOwn();
      }}
    >
      <label class="field">
        <span class="visually-hidden">Custom pattern</span>
        <input
          type="text"
          maxLength={256}
          spellcheck={false}
          autocomplete="off"
          placeholder="Custom pattern"
          value={remembering.own.value}
          onInput={(event) => remembering.own.value = event.currentTarget.value}
        />
      </label>
      <Button busy={remembering.busy.value} onClick={() => remembering.tryOwn()}>
        Preview
      </Button>
    </form>
  );
}

function Limits({ remembering }: { remembering: Remembering }) {
  const { scope, scopes, ttl, uses } = remembering;
  return (
    <div class="limits">
      <Limit
        label="Scope"
        value={scope.value}
        options={scopes.value}
        onChange={(value) => remembering.choose(value)}
      />
      {scopes.value.length === 1 && <p class="quiet">The session has ended.</p>}
      <Limit
        label="Valid for"
        value={ttl.value}
        options={TIMES}
        onChange={(value) => ttl.value = value}
      />
      <Limit
        label="Uses"
        value={uses.value}
        options={USES}
        onChange={(value) => uses.value = value}
      />
    </div>
  );
}

function Limit<T extends string>(props: SegmentedProps<T>) {
  return (
    <>
      <span class="quiet small" aria-hidden="true">{props.label}</span>
      <Segmented {...props} />
    </>
  );
}
