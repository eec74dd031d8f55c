import type { ActionDetail } from "../../server/actions/schema.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { bind, useKeys } from "../state/keys.ts";
import { useAddress } from "../state/address.ts";
import { canReplay, type Undo, whyNotUndo } from "../rollback/rollback.ts";
import { deciderOf } from "../parts/words.ts";
import { ExecutionBadge, StatusBadge } from "../parts/badges.tsx";
import { Button } from "../parts/button.tsx";
import { Text } from "../parts/text.tsx";
import { Ago } from "../parts/time.tsx";
import { announce } from "../parts/toast.tsx";
import { plain, sentenceOf } from "../parts/words.ts";

interface BarProps {
  detail: ActionDetail;
  undo: Undo;
}

/** What can still be done with a recorded action. */
export function RecordBar({ detail, undo }: BarProps) {
  const address = useAddress();
  const run = async (on_conflict?: "merge" | "force") => {
    const result = await undo.run(detail, on_conflict);
    if (result) announce({ text: `Rolled back: ${plain(sentenceOf(detail))}`, tone: "ok" }, null);
  };
  const again = async () => {
    const made = await replay(detail);
    if (made) address.go(`/actions/${made}`, { project: detail.project_id });
  };
  useKeys(bind(
    "Decide",
    ["u", "Roll back", () => whyNotUndo(detail) === null && undo.look(detail)],
    ["p", "Replay", again],
    ["mod+enter", "Roll back after the preview", () => undo.isPlanned() && run()],
    ["escape", "Back", () => undo.close()],
  ));
  if (undo.open.value) return <UndoStep undo={undo} run={run} />;
  return (
    <footer class="decision" aria-label="What can be done">
      <div class="decision-row">
        <Outcome detail={detail} />
        <Ways detail={detail} undo={undo} again={again} />
      </div>
    </footer>
  );
}

/** Asks for the same again; the id of the new action. */
async function replay(detail: ActionDetail): Promise<string | null> {
  if (!canReplay(detail)) return null;
  const { id, project_id } = detail;
  try {
    const made = await unwrap<{ id: string; status: string }>(
      api(project_id).api.actions[":id"].replay.$post({ param: { id }, json: {} }),
    );
    announce({ text: `Asked for again: ${plain(sentenceOf(detail))}`, tone: "ok" }, null);
    return made.id;
  } catch (error) {
    announce({ text: explain(error), tone: "danger" }, null);
    return null;
  }
}

/** What was decided and what came of it. */
export function Outcome({ detail }: { detail: ActionDetail }) {
  return (
    <p class="settled">
      <StatusBadge status={detail.status} />
      {detail.execution !== "none" && <ExecutionBadge execution={detail.execution} />}
      {detail.decided_at && (
        <span class="quiet">
          by <Text value={deciderOf(detail.decided_by)} />, <Ago at={detail.decided_at} said />
        </span>
      )}
    </p>
  );
}

interface WaysProps extends BarProps {
  again: () => Promise<void>;
}

function Ways({ detail, undo, again }: WaysProps) {
  const address = useAddress();
  const whyNot = whyNotUndo(detail);
  if (detail.status === "pending") {
    const href = address.href("/approvals", { id: detail.id, project: detail.project_id });
    return <a class="button button-primary" href={href}>Review it</a>;
  }
  return (
    <div class="decision-buttons">
      {canReplay(detail) && (
        <Button icon="replay" keys="p" onClick={() => void again()}>Replay</Button>
      )}
      <Button
        icon="undo"
        keys="u"
        disabled={whyNot !== null}
        title={whyNot ?? undefined}
        onClick={() => void undo.look(detail)}
      >
        Roll back
      </Button>
    </div>
  );
}

interface StepProps {
  undo: Undo;
  run: (on_conflict?: "merge" | "force") => Promise<void>;
}

function UndoStep({ undo, run }: StepProps) {
  const preview = undo.preview.value;
  return (
    <footer class="decision" aria-label="Roll back">
      <div class="decision-row">
        <div class="decision-buttons">
          {preview?.kind === "plan" && (
            <Button
              kind="primary"
              icon="undo"
              keys="mod+enter"
              busy={undo.busy.value}
              onClick={() => void run()}
            >
              Roll back
            </Button>
          )}
          {preview?.kind === "conflict" && (
            <>
              <Button busy={undo.busy.value} onClick={() => void run("merge")}>Merge</Button>
              <Button kind="danger" busy={undo.busy.value} onClick={() => void run("force")}>
                Overwrite
              </Button>
            </>
          )}
          <Button kind="quiet" keys="escape" onClick={() => undo.close()}>Back</Button>
        </div>
      </div>
    </footer>
  );
}
