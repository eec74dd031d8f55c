import { useEffect, useMemo } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { describeWall } from "../../server/actions/show/sandbox_text.ts";
import { Button, Segmented } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Problem } from "../parts/problem.tsx";
import { RejectedOnes } from "../parts/rejected_ones.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { useKeys } from "../state/keys.ts";
import { DialogFoot } from "./dialog_foot.tsx";
import { type Kind, KINDS, Opening, SPANS } from "./opening.ts";
import type { Review } from "./review.ts";
import { TypedField } from "./typed_field.tsx";

interface Props {
  review: Review;
  detail: ActionDetail;
}

/** Approves a command in the sandbox with walls open: for this run, for the session or by a rule. */
export function WallDialog({ review, detail }: Props) {
  const opening = useMemo(() => new Opening(detail), [detail.digest]);
  useEffect(() => () => opening.close(), [opening]);
  const save = () => {
    const open = opening.wanted();
    if (open) review.approveOpen(open, () => opening.writeRule());
  };
  useKeys([{ keys: "mod+enter", label: "Approve with open walls", group: "Decide", run: save }], {
    modal: true,
  });
  return (
    <Dialog
      title="Open a wall of the sandbox"
      onClose={() => review.close()}
      class="dialog-wide dialog-remember"
    >
      <div class="remember">
        <p>
          The command runs in the sandbox with the walls open that you choose here, and not outside
          it. Places that a rule blocks stay closed.
        </p>
        <Walls opening={opening} />
        <OwnWall opening={opening} />
        <div class="limits">
          <span class="quiet small" aria-hidden="true">Open for</span>
          <Segmented
            label="Open for"
            value={opening.span.value}
            options={SPANS}
            onChange={(span) => opening.choose(span)}
          />
        </div>
        {opening.span.value === "rule" && <ImpactOf opening={opening} />}
        <DialogFoot
          review={review}
          verb={opening.span.value === "rule" ? "Approve and write the rule" : "Approve in sandbox"}
          isReady={opening.isReady.value && review.isTyped.value}
          save={save}
        >
          <TypedField review={review} onEnter={save} />
        </DialogFoot>
      </div>
    </Dialog>
  );
}

function Walls({ opening }: { opening: Opening }) {
  const walls = opening.walls.value;
  if (walls.length === 0) {
    return <p class="quiet">The command and its last run tell of no wall. Name one below.</p>;
  }
  return (
    <fieldset class="offers">
      <legend>
        Walls to open{" "}
        <span class="quiet">(read from the command and its output, which the agent writes)</span>
      </legend>
      {walls.map((wall) => (
        <div class="offer" key={JSON.stringify(wall)}>
          <label>
            <input
              type="checkbox"
              checked={opening.chosen.value.includes(wall)}
              onChange={() => opening.turn(wall)}
            />
            <Text as="span" class="offer-name" value={describeWall(wall)} />
          </label>
        </div>
      ))}
    </fieldset>
  );
}

function OwnWall({ opening }: { opening: Opening }) {
  return (
    <form
      class="own-pattern own-wall"
      onSubmit={(event) => {
        event.preventDefault();
        opening.add();
      }}
    >
      <label class="choice">
        <span class="visually-hidden">Kind of wall</span>
        <select
          value={opening.kind.value}
          onChange={(event) => opening.kind.value = event.currentTarget.value as Kind}
        >
          {Object.entries(KINDS).map(([kind, word]) => (
            <option key={kind} value={kind}>{word}</option>
          ))}
        </select>
        <Icon name="chevron" />
      </label>
      <label class="field">
        <span class="visually-hidden">Host, folder or file</span>
        <input
          type="text"
          maxLength={1024}
          spellcheck={false}
          autocomplete="off"
          placeholder={opening.kind.value === "host" ? "registry.example" : "~/data"}
          value={opening.own.value}
          onInput={(event) => opening.own.value = event.currentTarget.value}
        />
      </label>
      <Button onClick={() => opening.add()}>Add</Button>
    </form>
  );
}

function ImpactOf({ opening }: { opening: Opening }) {
  const impact = opening.impact.value;
  const problem = opening.problem.value;
  if (problem !== null) return <Problem problem={problem} />;
  if (opening.chosen.value.length === 0) return null;
  if (impact === null) return <p class="quiet" role="status">Replaying the last 30 days …</p>;
  const { checked, totals: { newly_allowed, rejected_now_allowed }, complete } = impact;
  return (
    <div role="status">
      <p>
        {complete ? "" : "So far: "}Of {count(checked, "action")} of the last 30 days,{" "}
        {newly_allowed} more would have been allowed in the sandbox.
      </p>
      <RejectedOnes rejected={rejected_now_allowed} />
    </div>
  );
}
