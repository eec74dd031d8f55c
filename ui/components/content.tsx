import { useCallback } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { DiffModel } from "../diff_model.ts";
import type { Reading } from "../review.ts";
import { countHidden } from "../visible.ts";
import { bytesOf } from "../words.ts";
import { Segmented } from "./button.tsx";
import { Command } from "./command.tsx";
import type { DiffMode } from "./diff.tsx";
import { EndMark } from "./end_mark.tsx";
import { useLazy, Waiting } from "./lazy.tsx";
import { Path, Text } from "./text.tsx";
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
      <span class="figure-add">+{model.added}</span>
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

// What is no text cannot be read here; its size and hash say whether it is the right one.
function Opaque({ detail }: { detail: ActionDetail }) {
  const rows = [
    { name: "Now", side: detail.before, hash: detail.before_sha256 },
    { name: "After", side: detail.after, hash: detail.after_sha256 },
  ];
  return (
    <section class="file" aria-label="What changes">
      <header class="file-head">
        <span class="code-text">{detail.path !== null && <Path value={detail.path} />}</span>
        <span class="figure-fact">
          {isLargeText(detail) ? "too large to show here" : "not text: told by size and hash"}
        </span>
      </header>
      <table class="opaque">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col" class="opaque-size">Size</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, side, hash }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{side ? bytesOf(side.bytes) : "no file"}</td>
              <td class="code-text hash">{hash ?? "none"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
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

// A move keeps the content: what counts is which path goes and which one comes.
function Moved({ detail }: { detail: ActionDetail }) {
  return (
    <section class="file" aria-label="What changes">
      <table class="opaque moved">
        <thead>
          <tr>
            <th scope="col">File</th>
            <th scope="col">Path</th>
            <th scope="col">SHA-256</th>
          </tr>
        </thead>
        <tbody>
          {detail.changes.map((change) => (
            <tr key={change.path}>
              <th scope="row">{wordOf(change)}</th>
              <td class="code-text">
                <Text value={change.path} />
              </td>
              <td class="code-text">{change.after_sha256 ?? change.before_sha256}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function wordOf(change: ActionDetail["changes"][number]): string {
  if (change.before_sha256 === null) return "Comes";
  return change.after_sha256 === null ? "Goes" : "Changes";
}

// The daemon hands out texts up to a megabyte.
function isLargeText({ before, after }: ActionDetail): boolean {
  return Math.max(before?.bytes ?? 0, after?.bytes ?? 0) > 1024 * 1024;
}

function isText(detail: ActionDetail): boolean {
  return detail.before?.text !== null && detail.after?.text !== null;
}
