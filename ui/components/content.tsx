import { useCallback } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { DiffModel } from "../diff_model.ts";
import type { Reading } from "../review.ts";
import { countHidden } from "../visible.ts";
import { Segmented } from "./button.tsx";
import { Command } from "./command.tsx";
import type { DiffMode } from "./diff.tsx";
import { EndMark } from "./end_mark.tsx";
import { isLargeText, Moved, Opaque } from "./file_facts.tsx";
import { useLazy, Waiting } from "./lazy.tsx";
import { Path } from "./text.tsx";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

interface ContentProps {
  detail: ActionDetail;
  mode: DiffMode;
  onMode: (mode: DiffMode) => void;
  reading?: Reading;
}

/** What would be done, whole: the difference of a file, or the command and what it does. */
export function Content(props: ContentProps) {
  const { detail, reading } = props;
  const outside = detail.changes.reduce((sum, { path }) => sum + countHidden(path), 0) ||
    countHidden(detail.path ?? "");
  if (detail.command !== null) {
    return (
      <>
        <Command
          command={detail.command}
          onShown={(hidden) => reading?.shown(hidden + outside)}
        />
        <EndMark whole onReport={(seen) => reading?.end(seen)} />
      </>
    );
  }
  if (detail.input) return <Input input={detail.input} reading={reading} />;
  if (!isFileChange(detail)) return <Nothing reading={reading} hidden={outside} />;
  if (isMove(detail)) {
    return (
      <>
        <Moved detail={detail} />
        <Nothing reading={reading} hidden={outside} />
      </>
    );
  }
  if (isText(detail)) return <FileDiff {...props} outside={outside} />;
  return (
    <>
      <Opaque detail={detail} />
      <Nothing reading={reading} hidden={outside} unseen={isLargeText(detail)} />
    </>
  );
}

// A tool that the gate only records: what it was asked, word for word.
function Input({ input, reading }: { input: Record<string, unknown>; reading?: Reading }) {
  const text = JSON.stringify(input, null, 2);
  return (
    <>
      <Command command={text} onShown={(hidden) => reading?.shown(hidden)} />
      <EndMark whole onReport={(seen) => reading?.end(seen)} />
    </>
  );
}

function FileDiff({ detail, mode, onMode, reading, outside }: ContentProps & { outside: number }) {
  const loaded = useLazy(() => import("./diff.tsx"));
  const model = useSignal<DiffModel | null>(null);
  const whole = useSignal(false);
  const before = detail.before?.text ?? null;
  const after = detail.after?.text ?? null;
  const onShown = useCallback((next: DiffModel, all: boolean) => {
    model.value = next;
    whole.value = all;
    reading?.shown(next.hidden + outside);
  }, [detail.digest]);
  const Diff = loaded.value?.default;
  return (
    <section class="file" aria-label="What changes">
      <header class="file-head">
        <span class="code-text">{detail.path !== null && <Path value={detail.path} />}</span>
        {model.value && <Figures model={model.value} detail={detail} />}
        <Segmented
          label="View of the difference"
          value={mode}
          options={[{ value: "unified", label: "Unified" }, { value: "split", label: "Split" }]}
          onChange={onMode}
        />
      </header>
      {Diff
        ? (
          <Diff
            before={before}
            after={after}
            mode={mode}
            caption="What changes"
            onShown={onShown}
          />
        )
        : <Waiting failed={loaded.failed} />}
      {model.value && <EndMark whole={whole.value} onReport={(seen) => reading?.end(seen)} />}
    </section>
  );
}

function Figures({ model, detail }: { model: DiffModel; detail: ActionDetail }) {
  return (
    <span class="figures">
      {model.added > 0 && <span class="figure-add">+{model.added}</span>}
      {model.removed > 0 && <span class="figure-del">−{model.removed}</span>}
      {[...model.facts, ...modeFact(detail)].map((fact) => (
        <span key={fact} class="figure-fact">{fact}</span>
      ))}
    </span>
  );
}

function modeFact({ before, after }: ActionDetail): string[] {
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

interface NothingProps {
  reading: Reading | undefined;
  hidden: number;
  unseen?: boolean;
}

function Nothing({ reading, hidden, unseen }: NothingProps) {
  useEffect(() => reading?.shown(hidden, unseen), [hidden, unseen]);
  return <EndMark whole onReport={(seen) => reading?.end(seen)} />;
}

function isFileChange(detail: ActionDetail): boolean {
  return detail.before !== null || detail.after !== null;
}

function isMove({ changes }: ActionDetail): boolean {
  return changes.length > 1;
}

function isText(detail: ActionDetail): boolean {
  return detail.before?.text !== null && detail.after?.text !== null;
}
