import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import { Button, Segmented } from "../parts/button.tsx";
import { More, useLazy, Waiting } from "../parts/placeholder.tsx";
import { count } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import type { DiffMode } from "./diff.tsx";
import type { DiffModel } from "./diff_model.ts";
import type { EarlierProps } from "./earlier_comments.tsx";
import { FileFrame } from "./file_frame.tsx";
import type { Notes, Place } from "./notes.tsx";

/** Receives reports about the content: its hidden characters, and whether its end was in view. */
export interface Reading {
  shown(hidden: number, unseen?: boolean): void;
  end(seen: boolean): void;
  /** The comments on lines; absent where nobody can reject. */
  notes?: Notes;
  /** The ids of comments on earlier versions that a rejection settles. */
  settled?: Signal<readonly string[]>;
}

interface FilesProps {
  /** The action whose files these are, and its project. */
  action: { id: string; project_id: string; contents_dropped_at?: string | null };
  files: FileChange[];
  /** Hidden characters outside the files. */
  hidden: number;
  mode: DiffMode;
  onMode: (mode: DiffMode) => void;
  reading?: Reading;
}

const FIRST_FILES = 20;

/** Shows the changes of each file, and reports when a person has seen the last one. */
export function Files({ action, files, hidden, mode, onMode, reading }: FilesProps) {
  const [limit, setLimit] = useState(FIRST_FILES);
  const shown = useSignal<ReadonlyMap<number, Shown>>(new Map());
  const part = files.slice(0, limit);
  const left = files.length - part.length;
  const reports = [...shown.value.values()];
  const isThere = reports.length >= part.length;
  const all = reports.reduce((sum, one) => sum + one.hidden, hidden);
  const unseen = reports.some((one) => one.unseen);
  useEffect(() => {
    if (isThere) reading?.shown(all, unseen);
  }, [isThere, all, unseen]);
  return (
    <>
      {part.map((file, at) => (
        <FileView
          key={at}
          action={action}
          file={file}
          mode={mode}
          onMode={at === 0 ? onMode : undefined}
          reading={reading}
          onShown={(one) => shown.value = new Map(shown.value).set(at, one)}
        />
      ))}
      {left > 0 && (
        <More
          rest={count(left, "more file")}
          next={Math.min(left, FIRST_FILES)}
          onMore={() => setLimit(limit + FIRST_FILES)}
        />
      )}
      {isThere && (
        <EndMark
          whole={left === 0 && reports.every((one) => one.whole)}
          onReport={(seen) => reading?.end(seen)}
        />
      )}
    </>
  );
}

/** One file before and after an action; null means that no file exists. */
export interface FileChange
  extends Pick<ActionDetail, "before_sha256" | "after_sha256" | "before" | "after"> {
  path: string | null;
  /** False when only the agent host knows the result. */
  is_known?: boolean;
  is_left_out?: boolean;
}

/** How much of a file the page shows. */
interface Shown {
  hidden: number;
  /** Every line is shown. */
  whole: boolean;
  /** The content is too large to show. */
  unseen: boolean;
}

interface FileProps {
  action: FilesProps["action"];
  file: FileChange;
  mode: DiffMode;
  /** Switches the view; undefined hides the switch. */
  onMode: ((mode: DiffMode) => void) | undefined;
  reading: Reading | undefined;
  onShown: (shown: Shown) => void;
}

/** Shows the changes of one file: a diff, or facts when a diff is impossible. */
function FileView(props: FileProps) {
  const { file } = props;
  const isText = file.before?.text !== null && file.after?.text !== null;
  return isText && file.is_known !== false ? <FileDiff {...props} /> : <WithoutDiff {...props} />;
}

const loadDiff = () => Promise.all([import("./diff.tsx"), import("./notes.tsx")]);

function FileDiff({ action, file, mode, onMode, reading, onShown }: FileProps) {
  const { notes, settled } = reading ?? {};
  const loaded = useLazy(loadDiff, "card");
  const place = useSignal<Place | null>(null);
  const address = useAddress();
  const skips_blanks = address.query["blanks"] === "skipped";
  const model = useSignal<DiffModel | null>(null);
  const [diff, noted] = loaded.value ?? [];
  const Diff = diff?.default;
  const { added, removed, facts } = model.value ?? {};
  return (
    <FileFrame
      path={file.path}
      added={added}
      removed={removed}
      facts={facts && [...facts, ...modeFact(file)]}
      tools={
        <>
          {onMode && (
            <Segmented
              label="Diff view"
              value={mode}
              options={[{ value: "unified", label: "Unified" }, { value: "split", label: "Split" }]}
              onChange={onMode}
            />
          )}
          {onMode && file.before && file.after && (
            <Button
              kind="quiet"
              pressed={skips_blanks}
              title="Show lines that differ only in spaces and tabs as unchanged"
              onClick={() => address.set({ blanks: skips_blanks ? null : "skipped" })}
            >
              Skip blanks
            </Button>
          )}
          {notes && model.value && noted && (
            <Button
              kind="quiet"
              onClick={() => place.value = noted.firstPlace(model.value!)}
            >
              Comment
            </Button>
          )}
        </>
      }
    >
      {notes && noted && file.path !== null && (
        <noted.FileNotes notes={notes} path={file.path} place={place} />
      )}
      {Diff
        ? (
          <Diff
            path={file.path}
            before={file.before?.text ?? null}
            after={file.after?.text ?? null}
            mode={mode}
            caption="Changes"
            skips_blanks={skips_blanks}
            onClick={notes && ((target) => place.value = noted!.placeOf(target) ?? place.peek())}
            onShown={(next, whole) => {
              model.value = next;
              onShown({ hidden: next.hidden, whole, unseen: false });
            }}
          />
        )
        : <Waiting failed={loaded.failed} />}
      {settled && model.value && file.path !== null && (
        <Earlier action={action} file={{ ...file, path: file.path }} {...{ settled, place }} />
      )}
    </FileFrame>
  );
}

const loadEarlier = () => import("./earlier_comments.tsx");

/** Loaded after the diff, below it. */
function Earlier(props: EarlierProps) {
  const { value } = useLazy(loadEarlier, "card");
  return value && <value.EarlierComments {...props} />;
}

function WithoutDiff({ action, file, onShown }: FileProps) {
  const isKnown = file.is_known !== false;
  const unseen = isKnown && isLargeText(file);
  const { value, failed } = useLazy(loadOpaque, "card");
  const isThere = value !== null;
  useEffect(() => {
    if (isThere) onShown({ hidden: 0, whole: true, unseen });
  }, [isThere, unseen]);
  if (!value) return <Waiting failed={failed} />;
  if (isKnown) return <value.Opaque action={action} file={file} isLarge={unseen} />;
  return <FileFrame path={file.path} facts={["only the agent host knows the result"]} />;
}

const loadOpaque = () => import("./opaque.tsx");

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

/** Whether the daemon left out the text: it is larger than 1 MiB, or too many files have texts. */
function isLargeText({ before, after, is_left_out }: FileChange): boolean {
  return is_left_out === true || Math.max(before?.bytes ?? 0, after?.bytes ?? 0) > 1024 * 1024;
}

interface EndMarkProps {
  /** False while lines before it are not shown. */
  whole: boolean;
  onReport: (seen: boolean) => void;
}

/** Marks the end of the content, and reports whether it has scrolled into view. */
export function EndMark({ whole, onReport }: EndMarkProps) {
  const mark = useRef<HTMLDivElement>(null);
  const report = useRef(onReport);
  report.current = onReport;
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      report.current(whole && entries.some((entry) => entry.isIntersecting));
    });
    observer.observe(mark.current!);
    return () => observer.disconnect();
  }, [whole]);
  return <div ref={mark} class="end-mark" aria-hidden="true" />;
}

/** A file this close to the top counts as the current one, in spite of rounding and borders. */
const NEAR_PX = 4;

/** Scrolls a pane to its next file, or to the previous one with -1. */
export function stepFile(pane: HTMLElement | null, by: 1 | -1): void {
  if (!pane) return;
  const top = pane.getBoundingClientRect().top;
  const places = [...pane.querySelectorAll<HTMLElement>("section.file")]
    .map((file) => file.getBoundingClientRect().top - top);
  const next = by > 0
    ? places.find((place) => place > NEAR_PX)
    : places.findLast((place) => place < -NEAR_PX);
  if (next !== undefined) pane.scrollBy({ top: next });
}
