import type { ActionDetail } from "../../server/actions/schema.ts";
import { api, explain, unwrap } from "../client.ts";
import { useKeys } from "../keys.ts";
import { useAddress } from "../router.ts";
import { canReplay, type Undo, whyNotUndo } from "../undo.ts";
import { deciderOf } from "../words.ts";
import { ExecutionBadge, StatusBadge } from "./badges.tsx";
import { Button } from "./button.tsx";
import { plain } from "./sentence.tsx";
import { Text } from "./text.tsx";
import { Ago } from "./time.tsx";
import { announce } from "./toast.tsx";
import { sentenceOf } from "../words.ts";

interface BarProps {
  detail: ActionDetail;
  undo: Undo;
}

/** What can still be done with a recorded action. */
export function RecordBar({ detail, undo }: BarProps) {
  const address = useAddress();
  const whyNot = whyNotUndo(detail);
  const run = async (on_conflict?: "merge" | "force") => {
    const result = await undo.run(detail, on_conflict);
    if (result) announce({ text: `Rolled back: ${plain(sentenceOf(detail))}`, tone: "ok" }, null);
  };
  const replay = async () => {
    if (!canReplay(detail)) return;
    try {
      const { id, project_id } = detail;
      const made = await unwrap<{ id: string; status: string }>(
        api(project_id).api.actions[":id"].replay.$post({ param: { id }, json: {} }),
      );
      announce({ text: `Asked for again: ${plain(sentenceOf(detail))}`, tone: "ok" }, null);
      address.go(`/actions/${made.id}`, { project: project_id });
    } catch (error) {
      announce({ text: explain(error), tone: "danger" }, null);
    }
  };
  const review = address.href("/approvals", { id: detail.id, project: detail.project_id });
  useKeys([
    {
      keys: "u",
      label: "Roll back",
      group: "Decide",
      run: () => whyNot === null && undo.look(detail),
    },
    { keys: "p", label: "Replay", group: "Decide", run: () => void replay() },
    {
      keys: "mod+enter",
      label: "Roll back after the preview",
      group: "Decide",
      run: () => undo.open.value && undo.preview.value?.kind === "plan" && void run(),
    },
    { keys: "escape", label: "Back", group: "Decide", run: () => undo.close() },
  ]);
  if (undo.open.value) return <UndoStep undo={undo} run={run} />;
  return (
    <footer class="decision" aria-label="What can be done">
      <div class="decision-row">
        <p class="settled">
          <StatusBadge status={detail.status} />
          {detail.execution !== "none" && <ExecutionBadge execution={detail.execution} />}
          {detail.decided_at && (
            <span class="quiet">
              by <Text value={deciderOf(detail.decided_by)} />, <Ago at={detail.decided_at} said />
            </span>
          )}
        </p>
        <div class="decision-buttons">
          {detail.status === "pending" && (
            <a class="button button-primary" href={review}>Review it</a>
          )}
          {canReplay(detail) && (
            <Button icon="replay" keys="p" onClick={() => void replay()}>Replay</Button>
          )}
          {detail.status !== "pending" && (
            <Button
              icon="undo"
              keys="u"
              disabled={whyNot !== null}
              title={whyNot ?? undefined}
              onClick={() => void undo.look(detail)}
            >
              Roll back
            </Button>
          )}
        </div>
      </div>
    </footer>
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
