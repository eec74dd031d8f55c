import type { ActionDetail, RollbackResult } from "../../server/actions/schema.ts";
import type { Problem } from "../../server/client.ts";
import type { Undo } from "./rollback.ts";
import { shortHash } from "../parts/words.ts";
import { Icon } from "../parts/icon.tsx";
import { useLazy, Waiting } from "../parts/placeholder.tsx";
import { Patch } from "../diff/patch.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";

/** What rolling back would change, before it is done. */
export function UndoPane({ undo, detail }: { undo: Undo; detail: ActionDetail }) {
  const preview = undo.preview.value;
  return (
    <section class="undo" aria-label="Roll back">
      <h2>Roll back</h2>
      {preview === null
        ? <Skeleton lines={3} />
        : preview.kind === "plan"
        ? <Plan result={preview.result} detail={detail} />
        : preview.kind === "conflict"
        ? <Conflict problem={preview.problem} />
        : <p class="notice tone-danger">{preview.text}</p>}
    </section>
  );
}

function Plan({ result, detail }: { result: RollbackResult; detail: ActionDetail }) {
  const loaded = useLazy(() => import("../diff/diff.tsx"));
  const Diff = loaded.value?.default;
  const texts = hasTexts(detail);
  if (result.outcome === "already_undone") {
    return <p>The file already is as it was before. Rolling back changes nothing on disk.</p>;
  }
  return (
    <>
      <p>This is what changes on disk. Nothing has changed yet.</p>
      <ul class="undo-changes">
        {result.changes.map((change) => (
          <li key={change.path}>
            <Code value={change.path} />
            <span class="quiet">
              {change.then_sha256 === null
                ? "is removed again"
                : change.now_sha256 === null
                ? "comes back"
                : "gets its former content back"}
            </span>
          </li>
        ))}
      </ul>
      {texts && (Diff
        ? (
          <div class="file">
            <Diff
              before={detail.after?.text ?? null}
              after={detail.before?.text ?? null}
              mode="unified"
              caption="What rolling back changes"
            />
          </div>
        )
        : <Waiting failed={loaded.failed} />)}
    </>
  );
}

/** Whether there are texts to compare; a command has no one file, so it has none. */
function hasTexts({ before, after }: ActionDetail): boolean {
  return (before ?? after) !== null && before?.text !== null && after?.text !== null;
}

/** A file that is no longer what an action left. */
export interface Conflicting {
  path: string;
  left_sha256: string | null;
  now_sha256: string | null;
  before_sha256: string | null;
}

/** The file is no longer what the action left: three states side by side, and what can be done. */
function Conflict({ problem }: { problem: Problem }) {
  const conflicts = problem["conflicts"] as Conflicting[] | undefined;
  if (!conflicts) return <p class="notice tone-danger">{problem.detail}</p>;
  const diff = typeof problem["diff"] === "string" ? problem["diff"] : null;
  return (
    <>
      <p class="notice tone-warn">
        <Icon name="alert" />
        <span>It has changed since the agent wrote it. Nothing was touched.</span>
      </p>
      <ThreeStates files={conflicts} />
      {diff && <Patch text={diff} caption="What changed since" />}
      <WaysOut />
    </>
  );
}

/** What merging and overwriting mean. */
export function WaysOut() {
  return (
    <p class="quiet">
      Merge takes back the agent’s lines and keeps the later ones where they do not touch. Overwrite
      brings the former state back; what is there now is kept in the ledger first.
    </p>
  );
}

/** Each file in three states side by side, by its hashes. */
export function ThreeStates({ files }: { files: Conflicting[] }) {
  return (
    <table class="opaque">
      <thead>
        <tr>
          {["File", "Before", "After the agent", "Now"].map((name) => (
            <th key={name} scope="col">{name}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {files.map((file) => (
          <tr key={file.path} class="code-text">
            <th scope="row">
              <Text value={file.path} />
            </th>
            <td>{hashText(file.before_sha256)}</td>
            <td>{hashText(file.left_sha256)}</td>
            <td>{hashText(file.now_sha256)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function hashText(hash: string | null): string {
  return hash === null ? "no file" : shortHash(hash);
}
