import { useEffect } from "preact/hooks";
import type { ActionDetail } from "../../server/actions/schema.ts";
import type { DiffMode } from "../diff/diff.tsx";
import { EndMark, type FileChange, Files, type Reading } from "../diff/files.tsx";
import { countHidden } from "../../server/shown/visible.ts";
import { useLazy } from "../parts/placeholder.tsx";
import { isInHeadline } from "../parts/words.ts";
import { Command } from "./command.tsx";

interface ContentProps {
  detail: ActionDetail;
  mode: DiffMode;
  onMode: (mode: DiffMode) => void;
  reading?: Reading;
}

/** Shows the plan in full: the command or input, and the diff of each file. */
export function Content(props: ContentProps) {
  const { detail, reading } = props;
  const shown = inputOf(detail);
  const files = filesOf(detail);
  const hidden = countHidden(shown ?? "", { code: true }) + hiddenInPaths(detail);
  return (
    <>
      {shown !== null && !isInHeadline(detail) && <Command command={shown} />}
      {files.length === 0 && isMoved(detail) && <Moved detail={detail} />}
      {files.length > 0
        ? <Files {...props} action={detail} files={files} hidden={hidden} />
        : <NoFiles reading={reading} hidden={hidden} />}
    </>
  );
}

const loadMoved = () => import("../diff/moved.tsx");

/** Loaded only for a move or a finished command; the headline of a move has both paths already. */
function Moved({ detail }: { detail: ActionDetail }) {
  const { value } = useLazy(loadMoved, "card");
  return value && <value.Moved detail={detail} />;
}

/** The command, or the input of a tool whose effects the gate does not know; null otherwise. */
function inputOf({ command, input, files }: ActionDetail): string | null {
  if (command !== null || input === null) return command;
  const isKnown = files !== null && files.length > 0 && files.every((file) => file.is_known);
  return isKnown ? null : JSON.stringify(input, null, 2);
}

function filesOf(detail: ActionDetail): FileChange[] {
  const { files, command, input, changes, before, after } = detail;
  if (files) return files.some((file) => file.is_known) ? files : [];
  const isOne = command === null && input === null && changes.length <= 1;
  return isOne && (before !== null || after !== null) ? [detail] : [];
}

function isMoved({ command, input, changes }: ActionDetail): boolean {
  return command === null ? input === null && changes.length > 1 : changes.length > 0;
}

function hiddenInPaths({ changes, path }: ActionDetail): number {
  return changes.reduce((sum, change) => sum + countHidden(change.path), 0) ||
    countHidden(path ?? "");
}

function NoFiles({ reading, hidden }: { reading: Reading | undefined; hidden: number }) {
  useEffect(() => reading?.shown(hidden), [hidden]);
  return <EndMark whole onReport={(seen) => reading?.end(seen)} />;
}
