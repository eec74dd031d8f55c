import { useState } from "preact/hooks";
import type { FileDiff } from "../../server/sessions/schema.ts";
import { bytesOf, count } from "../parts/words.ts";
import { Empty } from "../parts/placeholder.tsx";
import { Patch } from "../diff/patch.tsx";
import { Path, Text } from "../parts/text.tsx";

const CHANGES: Record<FileDiff["change"], string> = {
  created: "new",
  modified: "changed",
  deleted: "removed",
  renamed: "moved",
  none: "as before",
};

const OMITTED: Record<NonNullable<FileDiff["omitted"]>, string> = {
  binary: "not text: told by size",
  too_large: "too large to show here",
  too_different: "too different to compare",
  not_kept: "its content was not kept",
};

/** A session may have changed thousands of files, so the page shows them in steps. */
const FIRST_FILES = 20;
const FIRST_LINES = 400;

interface FilesProps {
  files: FileDiff[];
  isWhole: boolean;
}

/** The changes of each file between the start and the end. */
export function SessionFiles({ files, isWhole }: FilesProps) {
  const [limit, setLimit] = useState(FIRST_FILES);
  if (files.length === 0) {
    const whose = isWhole ? "this session" : "this action";
    return (
      <Empty icon="check" title={`No file is different because of ${whose}`}>
        <p>What was held, refused or undone leaves the files as they were.</p>
      </Empty>
    );
  }
  return (
    <>
      <p class="quiet session-count">{count(files.length, "file")} changed</p>
      {files.slice(0, limit).map((file) => <File key={file.path} file={file} />)}
      {files.length > limit && (
        <More
          what={count(files.length - limit, "more file")}
          onMore={() => setLimit(limit * 2)}
        />
      )}
    </>
  );
}

function More({ what, onMore }: { what: string; onMore: () => void }) {
  return (
    <div class="diff-more">
      <span>{what} not shown yet.</span>
      <button type="button" class="link" onClick={onMore}>Show more</button>
    </div>
  );
}

function LongPatch({ text }: { text: string }) {
  const [limit, setLimit] = useState(FIRST_LINES);
  const lines = text.split("\n");
  const left = lines.length - limit;
  if (left <= 0) return <Patch text={text} caption="What changes" />;
  return (
    <>
      <Patch text={lines.slice(0, limit).join("\n")} caption="What changes" />
      <More what={count(left, "more line")} onMore={() => setLimit(limit * 4)} />
    </>
  );
}

function File({ file }: { file: FileDiff }) {
  const { path, renamed_from, change, patch, omitted, before, after } = file;
  return (
    <section class="file" aria-label={`What changes in ${path}`}>
      <header class="file-head">
        <span class="code-text">
          <Path value={path} />
        </span>
        <span class="figure-fact">{CHANGES[change]}</span>
        {renamed_from !== null && (
          <span class="figure-fact">
            from <Text value={renamed_from} />
          </span>
        )}
        {patch !== null && <Figures patch={patch} />}
      </header>
      {patch !== null ? <LongPatch text={patch} /> : (
        <p class="quiet file-note">
          {omitted === null ? "Its content stays the same." : `${OMITTED[omitted]}: `}
          {omitted !== null && `${sizeOf(before)} → ${sizeOf(after)}`}
        </p>
      )}
    </section>
  );
}

function Figures({ patch }: { patch: string }) {
  const lines = patch.split("\n");
  const added = lines.filter((line) => /^\+(?!\+\+ )/.test(line)).length;
  const removed = lines.filter((line) => /^-(?!-- )/.test(line)).length;
  return (
    <span class="figures">
      {added > 0 && <span class="figure-add">+{added}</span>}
      {removed > 0 && <span class="figure-del">−{removed}</span>}
    </span>
  );
}

function sizeOf(side: FileDiff["before"]): string {
  return side === null ? "no file" : bytesOf(side.bytes);
}
