import type { ActionDetail, Conflict } from "../../server/actions/schema.ts";
import { Patch } from "../diff/patch.tsx";
import { statusWord } from "../parts/badges.tsx";
import { Icon } from "../parts/icon.tsx";
import { Code, Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";

const KINDS: Record<Conflict["kind"], string> = {
  both_hold: "also has a held change to it",
  overwrites: "wrote the content that this replaces, and nobody has reviewed it",
  overwritten_by: "has replaced this content, or wants to",
  held_by: "has a held change to it, based on the earlier content",
  changed_by: "has changed it later",
};

type Shown = ActionDetail["conflicts"][number];

/** More conflicts are folded, so that the plan stays in view. */
const FIRST_CONFLICTS = 2;

/** Lists other sessions that change the same files. */
export function Conflicts({ detail: { conflicts } }: { detail: ActionDetail }) {
  if (conflicts.length > FIRST_CONFLICTS) return <Many conflicts={conflicts} />;
  return (
    <>
      {conflicts.map((conflict) => (
        <div key={keyOf(conflict)} class="notice tone-warn conflict">
          <Icon name="alert" />
          <Other conflict={conflict} />
        </div>
      ))}
    </>
  );
}

function Many({ conflicts }: { conflicts: Shown[] }) {
  const files = new Set(conflicts.map(({ path }) => path)).size;
  const sessions = new Set(conflicts.map(({ session_id }) => session_id)).size;
  return (
    <div class="notice tone-warn conflict">
      <Icon name="alert" />
      <div>
        <strong>
          {sessions === 1 ? "Another session changes" : `${sessions} other sessions change`}{"  "}
          {files === 1 ? "one of these files" : `${files} of these files`}.
        </strong>
        <details>
          <summary>Show {count(conflicts.length, "conflict")}</summary>
          <ul class="conflicts">
            {conflicts.map((conflict) => (
              <li key={keyOf(conflict)}>
                <Other conflict={conflict} />
              </li>
            ))}
          </ul>
        </details>
      </div>
    </div>
  );
}

function keyOf({ action_id, kind, path }: Shown): string {
  return `${action_id} ${kind} ${path}`;
}

function Other({ conflict }: { conflict: Shown }) {
  const address = useAddress();
  const { kind, action_id, agent, path, status, diff } = conflict;
  return (
    <div>
      <Code value={path} />: another session, <Text value={agent} />, {KINDS[kind]}.{" "}
      <a href={address.href(`/actions/${action_id}`)}>Its action</a> is {statusWord(status)}.
      {diff !== null && (
        <details>
          <summary>Show its change</summary>
          <Patch text={diff} caption="Change by the other session" />
        </details>
      )}
    </div>
  );
}

function nextStep({ rebased }: Base, canEdit: boolean): string {
  if (!rebased) {
    return canEdit
      ? "The change does not fit the current file: edit or reject it."
      : "The action is no longer possible: reject it and let the agent try again.";
  }
  return rebased.text === null
    ? "Approving does the same to the current file."
    : "Approving applies the change to the current file, as shown below.";
}

type Base = NonNullable<ActionDetail["base"]>;

const TITLE = "The file has changed since the action was held.";

/** Explains that the file changed while the action was held, and shows the new result. */
export function ChangedBase({ base, canEdit }: { base: Base; canEdit: boolean }) {
  const { diff, rebased, now_sha256 } = base;
  const isGone = now_sha256 === null;
  // For a deletion or a move, nothing else on the card shows the current content.
  const isOpen = rebased !== null && rebased.diff === null;
  return (
    <div class="notice tone-warn base">
      <Icon name="alert" />
      <div>
        <strong>
          {isGone ? "The file was deleted after the action was held." : TITLE}
        </strong>{" "}
        {nextStep(base, canEdit)}
        {diff !== null && !isGone && (
          <details open={isOpen}>
            <summary>Show what changed in the file</summary>
            <Patch text={diff} caption="Changes to the file" />
          </details>
        )}
        {rebased?.diff != null && (
          <details open>
            <summary>Show the result of approving</summary>
            <Patch text={rebased.diff} caption="Result of approving" />
          </details>
        )}
      </div>
    </div>
  );
}
