import type { Problem } from "../../server/client.ts";
import type { SessionRollbackResult } from "../../server/sessions/schema.ts";
import { useAddress } from "../state/address.ts";
import type { SessionUndo } from "../sessions/session.ts";
import { count } from "../parts/words.ts";
import { Icon } from "../parts/icon.tsx";
import { Patch } from "../diff/patch.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { type Conflicting, ThreeStates, WaysOut } from "./preview.tsx";

/** What rolling back a session would change, before it is done. */
export function SessionUndoPane({ undo }: { undo: SessionUndo }) {
  const preview = undo.preview.value;
  return (
    <section class="undo" aria-label="Roll back">
      <h2>Roll back</h2>
      {preview === null
        ? <Skeleton lines={3} />
        : preview.kind === "plan"
        ? <Plan result={preview.result} />
        : preview.kind === "conflict"
        ? <Conflict problem={preview.problem} />
        : (
          <p class="notice tone-danger">
            <Text value={preview.text} />
          </p>
        )}
    </section>
  );
}

function Plan({ result: { actions, skipped } }: { result: SessionRollbackResult }) {
  const files = filesOf(actions);
  return (
    <>
      <p>
        {actions.length === 0
          ? "There is nothing that can be rolled back."
          : `${
            count(actions.length, "action")
          } would be undone, newest first. Nothing has changed yet.`}
      </p>
      <ul class="undo-changes">
        {files.map(([path, { now, then }]) => (
          <li key={path}>
            <Code value={path} />
            <span class="quiet">{fateOf(now, then)}</span>
          </li>
        ))}
      </ul>
      {skipped.length > 0 && <Skipped skipped={skipped} />}
    </>
  );
}

function Skipped({ skipped }: Pick<SessionRollbackResult, "skipped">) {
  const address = useAddress();
  return (
    <details>
      <summary>{count(skipped.length, "action")} cannot be undone and would stay</summary>
      <ul class="undo-changes">
        {skipped.map(({ action_id, tool, why }) => (
          <li key={action_id}>
            <a href={address.href(`/actions/${action_id}`)}>
              <Text value={tool} />
            </a>
            <span class="quiet">
              <Text value={why} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

type Fate = { now: string | null; then: string | null };

/** Newest first: what stands there now is told by the first, what will by the last. */
function filesOf(actions: SessionRollbackResult["actions"]): [string, Fate][] {
  const files = new Map<string, Fate>();
  for (const { changes } of actions) {
    for (const { path, now_sha256, then_sha256 } of changes) {
      const now = files.has(path) ? files.get(path)!.now : now_sha256;
      files.set(path, { now, then: then_sha256 });
    }
  }
  return [...files];
}

function fateOf(now: string | null, then: string | null): string {
  if (now === then) return "stays as it is";
  if (then === null) return "is removed again";
  return now === null ? "comes back" : "gets its former content back";
}

interface Clash {
  action_id: string;
  detail: string;
  files: Conflicting[];
  diff: string | null;
}

interface Dependent {
  action_id: string;
  path: string;
}

/** Files that others have changed since, or later writes that stand on these. */
function Conflict({ problem }: { problem: Problem }) {
  const clashes = (problem["conflicts"] as Clash[] | undefined) ?? [];
  const dependents = (problem["dependents"] as Dependent[] | undefined) ?? [];
  return (
    <>
      <p class="notice tone-warn">
        <Icon name="alert" />
        <span>
          <Text value={problem.detail} />. Nothing was touched.
        </span>
      </p>
      {clashes.length > 0 && <ThreeStates files={clashes.flatMap(({ files }) => files)} />}
      {clashes.map(({ action_id, diff }) =>
        diff !== null && <Patch key={action_id} text={diff} caption="What changed since" />
      )}
      {dependents.length > 0 && <Dependents dependents={dependents} />}
      <WaysOut />
    </>
  );
}

function Dependents({ dependents }: { dependents: Dependent[] }) {
  const address = useAddress();
  return (
    <ul class="undo-changes">
      {dependents.map(({ action_id, path }) => (
        <li key={`${action_id} ${path}`}>
          <Code value={path} />
          <a href={address.href(`/actions/${action_id}`)}>a later action wrote it</a>
        </li>
      ))}
    </ul>
  );
}
