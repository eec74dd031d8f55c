import type { ActionDetail, Conflict } from "../../server/actions/schema.ts";
import { useAddress } from "../state/address.ts";
import { count } from "../parts/words.ts";
import { statusWord } from "../parts/badges.tsx";
import { Icon } from "../parts/icon.tsx";
import { Patch } from "../diff/patch.tsx";
import { Code, Text } from "../parts/text.tsx";

const KINDS: Record<Conflict["kind"], string> = {
  both_hold: "holds a change of it too",
  overwrites: "wrote what this replaces, and nobody has looked at that",
  overwritten_by: "has replaced what this wrote, or asks to",
  held_by: "holds a change of it, asked on what was there before",
  changed_by: "has changed it since",
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
          {sessions === 1 ? "Another session is" : `${sessions} other sessions are`} at{" "}
          {count(files, "file")} of this.
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
          <summary>What it does there</summary>
          <Patch text={diff} caption="What the other session does" />
        </details>
      )}
    </div>
  );
}

function wayOn({ rebased }: Base, canEdit: boolean): string {
  if (!rebased) {
    return canEdit
      ? "The change does not fit what stands there now: edit it, or reject it."
      : "It cannot be done any more: reject it, and let the agent try again.";
  }
  return rebased.text === null
    ? "Approving does the same with what stands there now."
    : "Approving writes the change on top of what stands there now, as below.";
}

type Base = NonNullable<ActionDetail["base"]>;

const TITLE = "The file has changed since this was asked.";

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
          {isGone ? "The file is gone since this was asked." : TITLE}
        </strong>{" "}
        {wayOn(base, canEdit)}
        {diff !== null && !isGone && (
          <details open={isOpen}>
            <summary>What has changed in the file since</summary>
            <Patch text={diff} caption="What has changed in the file since" />
          </details>
        )}
        {rebased?.diff != null && (
          <details open>
            <summary>What would be written now</summary>
            <Patch text={rebased.diff} caption="What would be written now" />
          </details>
        )}
      </div>
    </div>
  );
}
