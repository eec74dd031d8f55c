import type { ComponentChildren } from "preact";
import type { Problem } from "../../server/client.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Skeleton } from "../parts/placeholder.tsx";
import { Code, Text } from "../parts/text.tsx";
import { shortHash } from "../parts/words.ts";
import { ThreeColumns } from "./three_columns.tsx";
import type { OnConflict, Rollback } from "./rollback.ts";

interface PaneProps<Result> {
  rollback: Rollback<never, Result>;
  plan: (result: Result) => ComponentChildren;
  conflict: (problem: Problem) => ComponentChildren;
}

/** Shows the changes of a rollback before it runs. */
export function RollbackPane<Result>({ rollback, plan, conflict }: PaneProps<Result>) {
  const preview = rollback.preview.value;
  return (
    <section class="rollback" aria-label="Roll back">
      <h2>Roll back</h2>
      {preview === null
        ? <Skeleton lines={3} />
        : preview.kind === "plan"
        ? plan(preview.result)
        : preview.kind === "conflict"
        ? conflict(preview.problem)
        : <Text as="p" class="notice tone-danger" value={preview.text} />}
    </section>
  );
}

interface BarProps {
  rollback: Pick<Rollback<never, unknown>, "preview" | "busy" | "isReady" | "close">;
  run: (on_conflict?: OnConflict) => Promise<void>;
}

/** The buttons under an open preview. */
export function RollbackBar({ rollback, run }: BarProps) {
  const busy = rollback.busy.value;
  return (
    <footer class="decision" aria-label="Roll back">
      <div class="decision-row">
        <div class="decision-buttons">
          {rollback.isReady() && (
            <Button
              kind="primary"
              icon="rollback"
              keys="mod+enter"
              busy={busy}
              onClick={() => void run()}
            >
              Roll back
            </Button>
          )}
          {rollback.preview.value?.kind === "conflict" && (
            <>
              <Button busy={busy} onClick={() => void run("merge")}>Merge</Button>
              <Button kind="danger" busy={busy} onClick={() => void run("force")}>Overwrite</Button>
            </>
          )}
          <Button kind="quiet" keys="escape" onClick={() => rollback.close()}>Back</Button>
        </div>
      </div>
    </footer>
  );
}

interface PathChange {
  path: string;
  /** The hash before the rollback; null when no file is there. */
  now: string | null;
  /** The hash after the rollback; null when no file is left. */
  then: string | null;
}

/** One line for each path that a rollback touches. */
export function PathChanges({ changes }: { changes: PathChange[] }) {
  return (
    <ul class="rollback-changes">
      {changes.map(({ path, now, then }) => (
        <li key={path}>
          <Code value={path} />
          <span class="quiet">{fateOf(now, then)}</span>
        </li>
      ))}
    </ul>
  );
}

function fateOf(now: string | null, then: string | null): string {
  if (now === then) return "stays as it is";
  if (then === null) return "is removed";
  return now === null ? "is restored" : "gets its previous content back";
}

/** A file that changed after the action wrote it. */
export interface ConflictingFile {
  path: string;
  left_sha256: string | null;
  now_sha256: string | null;
  before_sha256: string | null;
  /** Its contents; null if one is not text, too long or not kept. A content is null without a file. */
  texts: { before: string | null; left: string | null; now: string | null } | null;
}

/** Each file in three states, side by side or by hash, and the ways to go on. */
export function ConflictingFiles({ files, children }: {
  files: ConflictingFile[];
  children: ComponentChildren;
}) {
  const opaque = files.filter(({ texts }) => texts === null);
  return (
    <>
      {files.map(({ path, texts }) => texts && <ThreeColumns key={path} path={path} {...texts} />)}
      {opaque.length > 0 && (
        <table class="opaque">
          <thead>
            <tr>
              {["File", "Before", "After the agent", "Now"].map((name) => (
                <th key={name} scope="col">{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {opaque.map((file) => (
              <tr key={file.path} class="code-text">
                <th scope="row">
                  <Text value={file.path} />
                </th>
                {[file.before_sha256, file.left_sha256, file.now_sha256].map((hash, at) => (
                  <td key={at}>{hash === null ? "no file" : shortHash(hash)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {children}
      <p class="quiet">
        Merge removes the agent’s lines and keeps later changes that do not touch them. Overwrite
        restores the previous content; the ledger keeps the current content first.
      </p>
    </>
  );
}

/** Says that nothing was changed, and why. */
export function Untouched({ why }: { why: string }) {
  return (
    <p class="notice tone-warn">
      <Icon name="alert" />
      <span>
        <Text value={why} />. Nothing was changed.
      </span>
    </p>
  );
}
