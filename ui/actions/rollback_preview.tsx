import type { ActionDetail, RollbackResult } from "../../server/actions/schema.ts";
import type { Problem } from "../../server/client.ts";
import { Patch } from "../diff/patch.tsx";
import { useLazy, Waiting } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { Rollback } from "../rollback/rollback.ts";
import {
  type ConflictingFile,
  ConflictingFiles,
  PathChanges,
  RollbackPane,
  Untouched,
} from "../rollback/rollback_pane.tsx";
import { api, unwrap } from "../state/client.ts";

export type ActionRollback = Rollback<ActionDetail, RollbackResult>;

/** The rollback of one action. */
export function createActionRollback(): ActionRollback {
  return new Rollback(({ id, project_id, digest: expected_digest }) => ({
    key: id,
    send: (options) => {
      const json = { ...options, expected_digest };
      const { ":id": one } = api(project_id).api.actions;
      return unwrap<RollbackResult>(one.rollback.$post({ param: { id }, json }));
    },
  }));
}

interface PreviewProps {
  rollback: ActionRollback;
  detail: ActionDetail;
}

/** The changes that rolling back this action would make. */
export function ActionRollbackPreview({ rollback, detail }: PreviewProps) {
  return (
    <RollbackPane
      rollback={rollback}
      plan={(result) => <Plan result={result} detail={detail} />}
      conflict={(problem) => <Conflict problem={problem} />}
    />
  );
}

function Plan({ result, detail }: { result: RollbackResult; detail: ActionDetail }) {
  const loaded = useLazy(() => import("../diff/diff.tsx"));
  const Diff = loaded.value?.default;
  if (result.outcome === "already_undone") {
    return <p>The file already has its previous content. Rolling back changes nothing on disk.</p>;
  }
  return (
    <>
      <p>This is what changes on disk. Nothing has changed yet.</p>
      {result.left && <Text as="p" class="notice" value={`Not all is restored: ${result.left}`} />}
      <PathChanges
        changes={result.changes.map(({ path, now_sha256: now, then_sha256: then }) => ({
          path,
          now,
          then,
        }))}
      />
      {hasTexts(detail) && (Diff
        ? (
          <div class="file">
            <Diff
              path={detail.path}
              before={detail.after?.text ?? null}
              after={detail.before?.text ?? null}
              mode="unified"
              caption="Changes made by rolling back"
            />
          </div>
        )
        : <Waiting failed={loaded.failed} />)}
    </>
  );
}

/** A command has no single file, so it has no texts to compare. */
function hasTexts({ before, after }: ActionDetail): boolean {
  return (before ?? after) !== null && before?.text !== null && after?.text !== null;
}

function Conflict({ problem }: { problem: Problem }) {
  const files = problem["conflicts"] as ConflictingFile[] | undefined;
  if (!files) {
    return <Text as="p" class="notice tone-danger" value={problem.detail} />;
  }
  return (
    <>
      <Untouched why="The file has changed since the agent wrote it" />
      <ConflictingFiles files={files}>
        {typeof problem["diff"] === "string" && files.some(({ texts }) => texts === null) && (
          <Patch text={problem["diff"]} caption="Later changes to the file" />
        )}
      </ConflictingFiles>
    </>
  );
}
