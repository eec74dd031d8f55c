import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FileDiff, Session } from "../../server/sessions/schema.ts";
import { FileFrame } from "../diff/file_frame.tsx";
import { Patch } from "../diff/patch.tsx";
import { Button } from "../parts/button.tsx";
import { Empty, More } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { speak } from "../parts/toast.tsx";
import { bytesOf, count } from "../parts/words.ts";
import { bind, useKeys } from "../state/keys.ts";
import { FileTree } from "./file_tree.tsx";
import { linesOf } from "./lines_of.ts";
import { isViewed, loadViewed, setViewed } from "./viewed.ts";

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
  session: Session;
  files: FileDiff[];
  isWhole: boolean;
}

/** The changes of each file between the start and the end, what is viewed, and a tree of them. */
export function SessionFiles({ session, files, isWhole }: FilesProps) {
  const [limit, setLimit] = useState(FIRST_FILES);
  const list = useRef<HTMLDivElement>(null);
  useViewed(session);
  const wanted = useSignal<number | null>(null);
  const goTo = (at: number) => {
    setLimit((now) => Math.max(now, Math.ceil((at + 1) / FIRST_FILES) * FIRST_FILES));
    wanted.value = at;
  };
  // A file below the limit is on the page only after the next render.
  useLayoutEffect(() => {
    const place = wanted.value === null ? undefined : list.current?.children[wanted.value];
    if (!place) return;
    scrollTo(place);
    wanted.value = null;
  }, [wanted.value, limit]);
  const unviewedFrom = (at: number) =>
    [...files.keys()].map((i) => (at + i) % files.length)
      .find((i) => !isViewed(files[i]!));
  const mark = (at: number, is_viewed: boolean) => {
    setViewed(files[at]!, is_viewed);
    if (!is_viewed) return;
    const next = unviewedFrom(at + 1);
    if (next === undefined) speak("All files are viewed");
    else goTo(next);
  };
  const markNext = () => {
    const next = unviewedFrom(firstInView(list.current));
    if (next !== undefined) mark(next, true);
  };
  useKeys(bind("Move", ["v", "Mark the file as viewed and go to the next", markNext]));
  if (files.length === 0) {
    const whose = isWhole ? "This session" : "This action";
    return (
      <Empty icon="check" title={`${whose} changed no files`}>
        <p>Held, denied and rolled back actions leave the files unchanged.</p>
      </Empty>
    );
  }
  const viewed = files.filter((file) => isViewed(file)).length;
  return (
    <div class={files.length > 1 ? "session-changes" : undefined}>
      {files.length > 1 && (
        <FileTree
          files={files}
          onOpen={(file) => goTo(files.indexOf(file))}
        />
      )}
      <div>
        <p class="quiet session-count">
          {count(files.length, "file")} changed · <span>{viewed} of {files.length} viewed</span>
        </p>
        <div class="session-list" ref={list}>
          {files.slice(0, limit).map((file, at) => (
            <File
              key={file.path}
              file={file}
              is_viewed={isViewed(file)}
              onViewed={(is_viewed) => mark(at, is_viewed)}
            />
          ))}
        </div>
        {files.length > limit && (
          <More
            rest={count(files.length - limit, "more file")}
            next={Math.min(files.length - limit, limit)}
            onMore={() => setLimit(limit * 2)}
          />
        )}
      </div>
    </div>
  );
}

/** Reads the marks, and again when the person comes back from another page or browser. */
function useViewed(session: Session): void {
  useEffect(() => {
    const read = () => document.visibilityState === "visible" && loadViewed(session);
    read();
    document.addEventListener("visibilitychange", read);
    return () => document.removeEventListener("visibilitychange", read);
  }, [session.id]);
}

/** A file this close to the top counts as the current one, in spite of rounding and borders. */
const NEAR_PX = 8;

/** Scrolls the pane only: `scrollIntoView` also moves what hides its overflow. */
function scrollTo(file: Element): void {
  const pane = file.closest<HTMLElement>("[role=region]")!;
  const scroller = getComputedStyle(pane).overflowY === "visible" ? pane.parentElement! : pane;
  const { top } = scroller.getBoundingClientRect();
  scroller.scrollBy({ top: file.getBoundingClientRect().top - top - NEAR_PX / 2 });
}

/** The first file of the list whose end is below the top of what scrolls it. */
function firstInView(list: HTMLElement | null): number {
  if (!list) return 0;
  const pane = list.closest<HTMLElement>("[role=region]")!.getBoundingClientRect();
  const top = Math.max(0, pane.top) + NEAR_PX;
  const at = [...list.children].findIndex((file) => file.getBoundingClientRect().bottom > top);
  return Math.max(0, at);
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

interface FileProps {
  file: FileDiff;
  is_viewed: boolean;
  onViewed: (is_viewed: boolean) => void;
}

function File({ file, is_viewed, onViewed }: FileProps) {
  const { path, renamed_from, change, patch, omitted, before, after } = file;
  const [shown, setShown] = useState(false);
  const facts = [
    CHANGES[change],
    ...renamed_from === null ? [] : [<Text key="from" value={`from ${renamed_from}`} />],
  ];
  return (
    <FileFrame
      path={path}
      label={`Changes in ${path}`}
      {...linesOf(file)}
      facts={facts}
      tools={
        <>
          {is_viewed && (
            <Button kind="quiet" pressed={shown} onClick={() => setShown(!shown)}>Show</Button>
          )}
          <Button kind="quiet" keys="v" pressed={is_viewed} onClick={() => onViewed(!is_viewed)}>
            Viewed
          </Button>
        </>
      }
    >
      {is_viewed && !shown
        ? null
        : patch !== null
        ? <LongPatch text={patch} />
        : (
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
