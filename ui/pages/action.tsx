import { useMemo } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Card } from "../components/card.tsx";
import { Empty } from "../components/empty.tsx";
import { Icon } from "../components/icon.tsx";
import { Output } from "../components/output.tsx";
import { RecordBar } from "../components/record_bar.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { Text } from "../components/text.tsx";
import { Timeline } from "../components/timeline.tsx";
import { UndoPane } from "../components/undo_pane.tsx";
import { useKeys } from "../keys.ts";
import { useAddress } from "../router.ts";
import { detailOf } from "../state.ts";
import { Undo } from "../undo.ts";

/** One action for good: its card, its life, its output, and what can still be done with it. */
export function ActionPage() {
  const address = useAddress();
  const id = address.path.split("/")[2] ?? "";
  const loaded = detailOf(id, address.query["project"]);
  const value = loaded.value;
  const list = address.href("/actions");
  useKeys([
    { keys: "b", label: "Back to the list", group: "Move", run: () => history.back() },
  ]);
  return (
    <main class="record">
      <h1 class="visually-hidden">One action</h1>
      <a class="back" href={list}>
        <Icon name="back" />
        Actions
      </a>
      {value === null
        ? <Skeleton lines={12} />
        : "problem" in value
        ? (
          <Empty icon="alert" title="This action cannot be shown">
            <p>{value.problem}</p>
          </Empty>
        )
        : <RecordView key={id} detail={value.detail} />}
    </main>
  );
}

function RecordView({ detail }: { detail: ActionDetail }) {
  const address = useAddress();
  const undo = useMemo(() => new Undo(), []);
  const split = address.query["view"] === "split";
  return (
    <>
      <div class="record-scroll">
        <div class="record-main">
          {undo.open.value && <UndoPane undo={undo} detail={detail} />}
          <Card
            detail={detail}
            mode={split ? "split" : "unified"}
            onMode={(mode) => address.set({ view: mode === "split" ? "split" : null })}
          >
            <Edited detail={detail} />
            {detail.error && (
              <p class="notice tone-danger">
                <Icon name="alert" />
                <span>
                  <Text value={detail.error} />
                </span>
              </p>
            )}
            <Output detail={detail} />
          </Card>
        </div>
        <Timeline detail={detail} />
      </div>
      <RecordBar detail={detail} undo={undo} />
    </>
  );
}

function Edited({ detail }: { detail: ActionDetail }) {
  if (!detail.edited) return null;
  const asked = detail.proposed?.command;
  return (
    <div class="notice tone-info">
      <Icon name="pencil" />
      <div>
        A reviewer changed this before approving it; below is what was done.
        {asked && (
          <>
            {" "}The agent had asked for:
            <pre class="command command-asked">
              <Text value={asked} code />
            </pre>
          </>
        )}
      </div>
    </div>
  );
}
