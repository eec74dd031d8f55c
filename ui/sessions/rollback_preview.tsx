import type { Problem } from "../../server/client.ts";
import type { SessionRollbackResult } from "../../server/sessions/schema.ts";
import { Patch } from "../diff/patch.tsx";
import { Code, Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import {
  type ConflictingFile,
  ConflictingFiles,
  PathChanges,
  RollbackPane,
  Untouched,
} from "../rollback/rollback_pane.tsx";
import type { Rollback } from "../rollback/rollback.ts";
import { useAddress } from "../state/address.ts";

interface PreviewProps {
  rollback: Rollback<never, SessionRollbackResult>;
}

/** The changes that rolling back a session, or a part of it, would make. */
export function SessionRollbackPreview({ rollback }: PreviewProps) {
  return (
    <RollbackPane
      rollback={rollback}
      plan={(result) => <Plan result={result} />}
      conflict={(problem) => <Conflict problem={problem} />}
    />
  );
}

function Plan({ result: { actions, skipped } }: { result: SessionRollbackResult }) {
  return (
    <>
      <p>
        {actions.length === 0
          ? "No action can be rolled back."
          : `${
            count(actions.length, "action")
          } would be rolled back, newest first. Nothing has changed yet.`}
      </p>
      <Left actions={actions} />
      <PathChanges changes={changesOf(actions)} />
      {skipped.length > 0 && <Skipped skipped={skipped} />}
    </>
  );
}

/** The actions that a rollback restores only in part. */
function Left({ actions }: Pick<SessionRollbackResult, "actions">) {
  const address = useAddress();
  const partly = actions.filter(({ left }) => left);
  if (partly.length === 0) return null;
  return (
    <div class="notice">
      <div>
        <p>Not all is restored:</p>
        <ul class="rollback-changes">
          {partly.map(({ action_id, left }) => (
            <li key={action_id}>
              <a href={address.href(`/actions/${action_id}`)}>this action</a>
              <Text as="span" value={left!} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function Skipped({ skipped }: Pick<SessionRollbackResult, "skipped">) {
  const address = useAddress();
  return (
    <details>
      <summary>{count(skipped.length, "action")} cannot be rolled back</summary>
      <ul class="rollback-changes">
        {skipped.map(({ action_id, tool, why }) => (
          <li key={action_id}>
            <a href={address.href(`/actions/${action_id}`)}>
              <Text value={tool} />
            </a>
            <Text as="span" class="quiet" value={why} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Actions come newest first: the first one of a path knows its state now, the last one the result. */
function changesOf(actions: SessionRollbackResult["actions"]) {
  const files = new Map<string, { path: string; now: string | null; then: string | null }>();
  for (const { path, now_sha256, then_sha256 } of actions.flatMap(({ changes }) => changes)) {
    const known = files.get(path);
    files.set(path, { path, now: known ? known.now : now_sha256, then: then_sha256 });
  }
  return [...files.values()];
}

interface ActionConflict {
  action_id: string;
  files: ConflictingFile[];
  diff: string | null;
}

interface Dependent {
  action_id: string;
  path: string;
}

/** Files with later changes, and later actions that depend on these. */
function Conflict({ problem }: { problem: Problem }) {
  const conflicts = (problem["conflicts"] as ActionConflict[] | undefined) ?? [];
  const dependents = (problem["dependents"] as Dependent[] | undefined) ?? [];
  return (
    <>
      <Untouched why={whyOf(problem, conflicts, dependents)} />
      <ConflictingFiles files={conflicts.flatMap(({ files }) => files)}>
        {conflicts.map(({ action_id, diff, files }) =>
          diff !== null && files.some(({ texts }) => texts === null) && (
            <Patch key={action_id} text={diff} caption="Later changes to the file" />
          )
        )}
        {dependents.length > 0 && <Dependents dependents={dependents} />}
      </ConflictingFiles>
    </>
  );
}

function whyOf({ detail }: Problem, conflicts: unknown[], dependents: unknown[]): string {
  if (conflicts.length > 0) return "Some files have changed since the agent wrote them";
  return dependents.length > 0 ? "Later actions depend on these" : detail;
}

function Dependents({ dependents }: { dependents: Dependent[] }) {
  const address = useAddress();
  return (
    <ul class="rollback-changes">
      {dependents.map(({ action_id, path }) => (
        <li key={`${action_id} ${path}`}>
          <Code value={path} />
          <a href={address.href(`/actions/${action_id}`)}>a later action wrote it</a>
        </li>
      ))}
    </ul>
  );
}
