import { useMemo } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Card } from "../card/card.tsx";
import { Icon } from "../parts/icon.tsx";
import { Failed, Skeleton } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { durationOf } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { useKeys } from "../state/keys.ts";
import { detailOf } from "../state/live.ts";
import { listOf } from "./filters.tsx";
import { RecordBar } from "./record_bar.tsx";
import { ActionRollbackPreview, createActionRollback } from "./rollback_preview.tsx";
import { Timeline } from "./timeline.tsx";

/** The record of one action: its card, output, timeline and buttons. */
export function ActionPage() {
  const address = useAddress();
  const id = address.path.split("/")[2] ?? "";
  const loaded = detailOf(id);
  const value = loaded.value;
  const list = { ...listOf(address.query), at: id };
  useKeys([
    {
      keys: "b",
      label: "Go back to the list",
      group: "Move",
      run: () => address.go("/actions", list),
    },
  ]);
  return (
    <main class="record">
      <h1 class="visually-hidden">Action</h1>
      <a class="back" href={address.href("/actions", list)}>
        <Icon name="back" />
        Actions
      </a>
      {value === null
        ? <Skeleton lines={12} />
        : "problem" in value
        ? <Failed title="This action cannot be shown" problem={value.problem} />
        : <RecordView key={id} detail={value.detail} />}
    </main>
  );
}

function RecordView({ detail }: { detail: ActionDetail }) {
  const address = useAddress();
  const rollback = useMemo(createActionRollback, []);
  const split = address.query["view"] === "split";
  return (
    <>
      <div class="scroll record-scroll">
        <div>
          {rollback.open.value && <ActionRollbackPreview rollback={rollback} detail={detail} />}
          <Card
            detail={detail}
            mode={split ? "split" : "unified"}
            onMode={(mode) => address.set({ view: mode === "split" ? "split" : null })}
          >
            <Edited detail={detail} />
            {detail.error && (
              <p class="notice tone-danger">
                <Icon name="alert" />
                <Text as="span" value={detail.error} />
              </p>
            )}
            <Output detail={detail} />
          </Card>
        </div>
        <Timeline detail={detail} />
      </div>
      <RecordBar detail={detail} rollback={rollback} />
    </>
  );
}

function Edited({ detail }: { detail: ActionDetail }) {
  if (!detail.edited) return null;
  const original = detail.proposed?.command;
  return (
    <div class="notice tone-info">
      <Icon name="pencil" />
      <div>
        A reviewer edited this before approving it. The edited version is shown below.
        {original && (
          <>
            {" "}The agent’s version was:
            <pre class="command command-original">
              <Text value={original} code />
            </pre>
          </>
        )}
      </div>
    </div>
  );
}

/** The output of a command, with its exit code. */
function Output({ detail }: { detail: ActionDetail }) {
  const { output, exit_code } = detail;
  if (!output) return null;
  return (
    <section class="output" aria-label="Output">
      <header class="output-head">
        <h2>Output</h2>
        <span class={exit_code === 0 ? "quiet" : "tone-danger"}>
          {exit_code === null ? "no exit code" : `exit code ${exit_code}`}
        </span>
        <span class="quiet">{durationOf(output.duration_ms)}</span>
        {output.truncated && (
          <span class="tone-warn">shortened: only the beginning and the end are kept</span>
        )}
      </header>
      {output.text === ""
        ? <p class="quiet">It printed nothing.</p>
        : (
          <pre class="command" tabIndex={0}>
            <Text value={output.text} code />
          </pre>
        )}
    </section>
  );
}
