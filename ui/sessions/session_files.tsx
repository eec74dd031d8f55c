import { useState } from "preact/hooks";
import type { FileDiff } from "../../server/sessions/schema.ts";
import { FileFrame } from "../diff/file_frame.tsx";
import { Patch } from "../diff/patch.tsx";
import { Empty, More } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { bytesOf, count } from "../parts/words.ts";

const CHANGES: Record<FileDiff["change"], string> = {
  created: "new",
  modified: "changed",
  deleted: "deleted",
  renamed: "moved",
  none: "unchanged",
};

const OMITTED: Record<NonNullable<FileDiff["omitted"]>, string> = {
  binary: "not text",
  too_large: "too large to show",
  too_different: "too different to compare",
  not_kept: "content not kept",
  dropped: "content dropped because of its age",
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
    const whose = isWhole ? "This session" : "This action";
    return (
      <Empty icon="check" title={`${whose} changed no files`}>
        <p>Held, denied and rolled back actions leave the files unchanged.</p>
      </Empty>
    );
  }
  return (
    <>
      <p class="quiet session-count">{count(files.length, "file")} changed</p>
      {files.slice(0, limit).map((file) => <File key={file.path} file={file} />)}
      {files.length > limit && (
        <More
          rest={count(files.length - limit, "more file")}
          next={Math.min(files.length - limit, limit)}
          onMore={() => setLimit(limit * 2)}
        />
      )}
    </>
  );
}

function LongPatch({ text }: { text: string }) {
  const [limit, setLimit] = useState(FIRST_LINES);
  const lines = text.split("\n");
  const left = lines.length - limit;
  if (left <= 0) return <Patch text={text} caption="Changes" />;
  return (
    <>
      <Patch text={lines.slice(0, limit).join("\n")} caption="Changes" />
      <More
        rest={count(left, "more line")}
        next={Math.min(left, limit * 3)}
        onMore={() => setLimit(limit * 4)}
      />
    </>
  );
}

function File({ file }: { file: FileDiff }) {
  const { path, renamed_from, change, patch, omitted, before, after } = file;
  const facts = [
    CHANGES[change],
    ...renamed_from === null ? [] : [<Text key="from" value={`from ${renamed_from}`} />],
  ];
  const lines = patch?.split("\n") ?? [];
  return (
    <FileFrame
      path={path}
      label={`Changes in ${path}`}
      added={lines.filter((line) => /^\+(?!\+\+ )/.test(line)).length}
      removed={lines.filter((line) => /^-(?!-- )/.test(line)).length}
      facts={facts}
    >
      {patch !== null ? <LongPatch text={patch} /> : (
        <p class="quiet file-note">
          {omitted === null
            ? "The content is unchanged."
            : `${OMITTED[omitted]}: ${sizeOf(before)} → ${sizeOf(after)}`}
        </p>
      )}
    </FileFrame>
  );
}

function sizeOf(side: FileDiff["before"]): string {
  return side === null ? "no file" : bytesOf(side.bytes);
}
