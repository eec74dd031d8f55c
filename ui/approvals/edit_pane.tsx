import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { PolicyTestResult } from "../../server/policy/schema.ts";
import { WhatItDoes } from "../card/command.tsx";
import type { DiffMode } from "../diff/diff.tsx";
import { LoadingPane, useLazy, Waiting } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { api, explain, unwrap } from "../state/client.ts";
import { editableOf } from "../card/card.tsx";
import type { Review } from "./review.ts";

interface PaneProps {
  review: Review;
  detail: ActionDetail;
}

/** The editor for the agent's text or command; it takes the place of the card. */
export function EditPane({ review, detail }: PaneProps) {
  const loaded = useLazy(() => import("./editor.tsx"));
  const Editor = loaded.value?.default;
  const what = detail.command === null ? detail.path ?? "the file" : "the command";
  return (
    <section class="pane" aria-label="Edit">
      <header class="pane-head">
        <h2>
          Edit {detail.command === null ? <Code value={what} /> : what}
        </h2>
        <p class="quiet">Edit the agent’s version. Your changes are marked.</p>
      </header>
      {Editor
        ? (
          <Editor
            original={editableOf(detail) ?? ""}
            text={review.draft.value ?? ""}
            label={`Edit ${what}`}
            isAtEnd={detail.command !== null}
            onChange={(text) => review.draft.value = text}
          />
        )
        : <LoadingPane failed={loaded.failed} onClose={() => review.close()} />}
    </section>
  );
}

/** The diff between the agent's version and the reviewer's, before approval. */
export function CheckPane({ review, detail, mode }: PaneProps & { mode: DiffMode }) {
  const loaded = useLazy(() => import("../diff/diff.tsx"));
  const Diff = loaded.value?.default;
  // Adds the newline that a command lacks, so that the diff does not report it.
  const lines = (text: string) => detail.command === null ? text : `${text}\n`;
  return (
    <section class="pane pane-check" aria-label="Your changes">
      <header class="pane-head">
        <h2>Your changes to the agent’s version</h2>
        <p class="quiet">
          Red is the agent’s text, green is yours. The policy evaluates the result again.
        </p>
      </header>
      {Diff
        ? (
          <div class="file">
            <Diff
              path={detail.command === null ? detail.path : "command.sh"}
              before={lines(editableOf(detail) ?? "")}
              after={lines(review.draft.value ?? "")}
              mode={mode}
              caption="Your changes"
            />
          </div>
        )
        : <Waiting failed={loaded.failed} />}
      {detail.command !== null && (
        <Preview command={review.draft.value ?? ""} cwd={detail.cwd} project={detail.project_id} />
      )}
    </section>
  );
}

// The policy's decision on the edited command.
function Preview(props: { command: string; cwd: string | null; project: string }) {
  const answer = useSignal<PolicyTestResult | string | null>(null);
  useEffect(() => {
    const json = { command: props.command, ...(props.cwd ? { cwd: props.cwd } : {}) };
    unwrap(api(props.project).api.policy.test.$post({ json })).then(
      (result) => answer.value = result,
      (error) => answer.value = explain(error),
    );
  }, []);
  if (answer.value === null) return null;
  if (typeof answer.value === "string") return <p class="notice tone-danger">{answer.value}</p>;
  const { effect, reason, analysis } = answer.value;
  return (
    <>
      {effect === "deny" && (
        <p class="notice tone-danger">
          The policy denies this command: <Text value={reason} />
        </p>
      )}
      {analysis && (
        <dl class="facts">
          <WhatItDoes analysis={analysis} />
        </dl>
      )}
    </>
  );
}
