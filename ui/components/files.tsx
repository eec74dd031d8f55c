import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Reading } from "../review.ts";
import { count } from "../words.ts";
import type { DiffMode } from "./diff.tsx";
import { EndMark } from "./end_mark.tsx";
import { type FileChange, FileView, type Shown } from "./file_diff.tsx";

interface FilesProps {
  files: FileChange[];
  /** Hidden characters in what stands around the files. */
  hidden: number;
  mode: DiffMode;
  onMode: (mode: DiffMode) => void;
  reading?: Reading;
}

const FIRST_FILES = 20;

/** What becomes of each file, one below the other; the reading ends after the last of them. */
export function Files({ files, hidden, mode, onMode, reading }: FilesProps) {
  const [limit, setLimit] = useState(FIRST_FILES);
  const shown = useSignal<ReadonlyMap<number, Shown>>(new Map());
  const part = files.slice(0, limit);
  const told = [...shown.value.values()];
  const isThere = told.length >= part.length;
  const all = told.reduce((sum, one) => sum + one.hidden, hidden);
  const unseen = told.some((one) => one.unseen);
  useEffect(() => {
    if (isThere) reading?.shown(all, unseen);
  }, [isThere, all, unseen]);
  return (
    <>
      {part.map((file, at) => (
        <FileView
          key={at}
          file={file}
          mode={mode}
          onMode={at === 0 ? onMode : undefined}
          onShown={(one) => shown.value = new Map(shown.value).set(at, one)}
        />
      ))}
      {files.length > limit && <More left={files.length - limit} onMore={setLimit} />}
      {isThere && (
        <EndMark
          whole={files.length <= limit && told.every((one) => one.whole)}
          onReport={(seen) => reading?.end(seen)}
        />
      )}
    </>
  );
}

type More = (change: (limit: number) => number) => void;

function More({ left, onMore }: { left: number; onMore: More }) {
  return (
    <div class="diff-more">
      <span>{count(left, "more file")} not shown yet.</span>
      <button type="button" class="link" onClick={() => onMore((limit) => limit + FIRST_FILES)}>
        Show the next {Math.min(left, FIRST_FILES)}
      </button>
    </div>
  );
}
