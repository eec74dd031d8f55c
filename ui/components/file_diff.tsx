import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { DiffModel } from "../diff_model.ts";
import { Segmented } from "./button.tsx";
import type { DiffMode } from "./diff.tsx";
import { isLargeText, Opaque } from "./file_facts.tsx";
import { useLazy, Waiting } from "./lazy.tsx";
import { Path } from "./text.tsx";

/** One file with what stands there now and afterwards; null is no file. */
export interface FileChange
  extends Pick<ActionDetail, "before_sha256" | "after_sha256" | "before" | "after"> {
  path: string | null;
  /** False where only a host knows what it makes of the file. */
  is_known?: boolean;
  is_left_out?: boolean;
}

/** What of a file stands on the page. */
export interface Shown {
  hidden: number;
  /** Nothing is held back until somebody asks for more. */
  whole: boolean;
  /** It is too large to be shown. */
  unseen: boolean;
}

interface FileProps {
  file: FileChange;
  mode: DiffMode;
  /** Where the view can be changed. */
  onMode: ((mode: DiffMode) => void) | undefined;
  onShown: (shown: Shown) => void;
}

/** What becomes of one file: its difference, or what can be said of it. */
export function FileView(props: FileProps) {
  const { file } = props;
  const isText = file.before?.text !== null && file.after?.text !== null;
  return isText && file.is_known !== false ? <FileDiff {...props} /> : <Untold {...props} />;
}

function FileDiff({ file, mode, onMode, onShown }: FileProps) {
  const loaded = useLazy(() => import("./diff.tsx"));
  const model = useSignal<DiffModel | null>(null);
  const Diff = loaded.value?.default;
  return (
    <section class="file" aria-label="What changes">
      <header class="file-head">
        <span class="code-text">{file.path !== null && <Path value={file.path} />}</span>
        {model.value && <Figures model={model.value} file={file} />}
        {onMode && (
          <Segmented
            label="View of the difference"
            value={mode}
            options={[{ value: "unified", label: "Unified" }, { value: "split", label: "Split" }]}
            onChange={onMode}
          />
        )}
      </header>
      {Diff
        ? (
          <Diff
            before={file.before?.text ?? null}
            after={file.after?.text ?? null}
            mode={mode}
            caption="What changes"
            onShown={(next, whole) => {
              model.value = next;
              onShown({ hidden: next.hidden, whole, unseen: false });
            }}
          />
        )
        : <Waiting failed={loaded.failed} />}
    </section>
  );
}

function Untold({ file, onShown }: FileProps) {
  const isKnown = file.is_known !== false;
  const unseen = isKnown && isLargeText(file);
  useEffect(() => onShown({ hidden: 0, whole: true, unseen }), [unseen]);
  if (isKnown) return <Opaque file={file} />;
  return (
    <section class="file" aria-label="What changes">
      <header class="file-head">
        <span class="code-text">{file.path !== null && <Path value={file.path} />}</span>
        <span class="figure-fact">only its host knows what it makes of it</span>
      </header>
    </section>
  );
}

function Figures({ model, file }: { model: DiffModel; file: FileChange }) {
  return (
    <span class="figures">
      {model.added > 0 && <span class="figure-add">+{model.added}</span>}
      {model.removed > 0 && <span class="figure-del">−{model.removed}</span>}
      {[...model.facts, ...modeFact(file)].map((fact) => (
        <span key={fact} class="figure-fact">{fact}</span>
      ))}
    </span>
  );
}

function modeFact({ before, after }: FileChange): string[] {
  const old = before?.mode ?? null;
  const next = after?.mode ?? null;
  if (!after || (old === null && next === null)) return [];
  if (old === null) return [`mode ${octalOf(next!)}`];
  if (next !== null && next !== old) return [`mode ${octalOf(old)} → ${octalOf(next)}`];
  return [(old & 0o111) ? `stays executable (${octalOf(old)})` : `mode ${octalOf(old)} kept`];
}

function octalOf(mode: number): string {
  return `0${(mode & 0o7777).toString(8).padStart(3, "0")}`;
}
