import type { ActionDetail, RollbackResult } from "../../server/actions/schema.ts";
import type { Problem } from "../../server/client.ts";
import type { Undo } from "../undo.ts";
import { shortHash } from "../words.ts";
import { useLazy, Waiting } from "./lazy.tsx";
import { Skeleton } from "./skeleton.tsx";
import { Code, Text } from "./text.tsx";

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
        ? <Conflict problem={preview.problem} detail={detail} />
        : <p class="notice tone-danger">{preview.text}</p>}
    </section>
  );
}

function Plan({ result, detail }: { result: RollbackResult; detail: ActionDetail }) {
  const loaded = useLazy(() => import("./diff.tsx"));
  const Diff = loaded.value?.default;
  const texts = detail.before?.text !== null && detail.after?.text !== null;
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

/** The file is no longer what the action left: three states side by side, and what can be done. */
function Conflict({ problem, detail }: { problem: Problem; detail: ActionDetail }) {
  const now = hashIn(problem, "now_sha256");
  const diff = typeof problem["diff"] === "string" ? problem["diff"] : null;
  return (
    <>
      <p class="notice tone-warn">
        <Text value={problem.detail} />
      </p>
      <table class="opaque">
        <thead>
          <tr>
            <th scope="col">Before</th>
            <th scope="col">After the agent</th>
            <th scope="col">Now</th>
          </tr>
        </thead>
        <tbody>
          <tr class="code-text">
            <td>{hashText(detail.before_sha256)}</td>
            <td>{hashText(detail.after_sha256)}</td>
            <td>{now === undefined ? "changed since" : hashText(now)}</td>
          </tr>
        </tbody>
      </table>
      {diff && (
        <pre class="command" tabIndex={0} aria-label="What changed since">
          <Text value={diff} code />
        </pre>
      )}
      <p class="quiet">
        Nothing was touched. “Merge” takes back the agent’s lines and keeps the later ones where
        they do not touch. “Overwrite” restores the former file; the one there now is kept in the
        ledger first.
      </p>
    </>
  );
}

function hashIn(problem: Problem, name: string): string | null | undefined {
  const own = (problem["conflicts"] as Record<string, unknown>[] | undefined)?.[0]
    ?.[name];
  return typeof own === "string" || own === null ? own : undefined;
}

function hashText(hash: string | null): string {
  return hash === null ? "no file" : shortHash(hash);
}
