import type { ActionDetail } from "../../server/actions/schema.ts";
import { toolOf } from "../../server/actions/tools.ts";
import { Outcome } from "../parts/badges.tsx";
import { Button } from "../parts/button.tsx";
import { announce } from "../parts/toast.tsx";
import { plain, sentenceOf } from "../parts/words.ts";
import { type OnConflict, whyNotRollback } from "../rollback/rollback.ts";
import { RollbackBar } from "../rollback/rollback_pane.tsx";
import { cardOf, useAddress } from "../state/address.ts";
import { api, explain, unwrap } from "../state/client.ts";
import { bind, useKeys } from "../state/keys.ts";
import { refresh } from "../state/live.ts";
import type { ActionRollback } from "./rollback_preview.tsx";

interface BarProps {
  detail: ActionDetail;
  rollback: ActionRollback;
}

/** The buttons of a recorded action. */
export function RecordBar({ detail, rollback }: BarProps) {
  const address = useAddress();
  const run = async (on_conflict?: OnConflict) => {
    const result = await rollback.run(detail, on_conflict);
    await refresh(detail.id, detail.project_id);
    if (result) announce({ text: `Rolled back: ${plain(sentenceOf(detail))}`, tone: "ok" }, null);
  };
  const again = async () => {
    const made = await replay(detail);
    if (made) address.go(`/actions/${made}`);
  };
  useKeys(bind(
    "Decide",
    ["u", "Roll back", () => whyNotRollback(detail) === null && rollback.look(detail)],
    ["p", "Replay the action", again],
    ["mod+enter", "Roll back as previewed", () => rollback.isReady() && run()],
    ["escape", "Go back", () => rollback.close()],
  ));
  if (rollback.open.value) return <RollbackBar rollback={rollback} run={run} />;
  return (
    <footer class="decision" aria-label="Choices">
      <div class="decision-row">
        <Outcome detail={detail} />
        <Choices detail={detail} rollback={rollback} again={again} />
      </div>
    </footer>
  );
}

/** Submits the same input again; the id of the new action, or null. */
async function replay(detail: ActionDetail): Promise<string | null> {
  if (!canReplay(detail)) return null;
  const { id, project_id, digest: expected_digest } = detail;
  try {
    const made = await unwrap<{ id: string; status: string }>(
      api(project_id).api.actions[":id"].replay.$post({ param: { id }, json: { expected_digest } }),
    );
    announce({ text: `Replayed: ${plain(sentenceOf(detail))}`, tone: "ok" }, null);
    return made.id;
  } catch (error) {
    announce({ text: explain(error), tone: "danger" }, null);
    return null;
  }
}

function canReplay({ status, command, tool }: ActionDetail): boolean {
  return status === "rolled_back" && command === null && !toolOf(tool).undoes;
}

function Choices({ detail, rollback, again }: BarProps & { again: () => Promise<void> }) {
  const address = useAddress();
  const whyNot = whyNotRollback(detail);
  if (detail.status === "pending") {
    const href = address.href("/approvals", cardOf(detail, address.query));
    return <a class="button button-primary" href={href}>Review it</a>;
  }
  return (
    <div class="decision-buttons">
      {canReplay(detail) && (
        <Button icon="replay" keys="p" onClick={() => void again()}>Replay</Button>
      )}
      {detail.execution !== "none" && (
        <Button
          icon="rollback"
          keys="u"
          disabled={whyNot !== null}
          title={whyNot ?? undefined}
          onClick={() => void rollback.look(detail)}
        >
          Roll back
        </Button>
      )}
    </div>
  );
}
