import { useEffect, useMemo, useState } from "preact/hooks";
import { More } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { createDiff, type DiffModel, type Line, type Part } from "./diff_model.ts";

export type DiffMode = "unified" | "split";

interface DiffProps {
  before: string | null;
  after: string | null;
  mode: DiffMode;
  caption: string;
  /** Shows lines that differ only in spaces and tabs as unchanged. */
  skips_blanks?: boolean;
  /** Called with what a click meets. */
  onClick?: ((target: EventTarget | null) => void) | undefined;
  /** Called when the diff is on the screen; `whole` is true when every changed line is shown. */
  onShown?: (model: DiffModel, whole: boolean) => void;
}

const FIRST_LINES = 1500;
const MORE_LINES = 5000;

/** A diff as a table. It shows every changed line, or the number of lines not shown yet. */
export default function Diff(
  { before, after, mode, caption, skips_blanks = false, onClick, onShown }: DiffProps,
) {
  const model = useMemo(
    () => createDiff(before, after, { skips_blanks }),
    [before, after, skips_blanks],
  );
  const [limit, setLimit] = useState(FIRST_LINES);
  const { parts, left } = useMemo(() => take(model.parts, limit, mode), [model, limit, mode]);
  useEffect(() => onShown?.(model, left === 0 && model.respaced === 0), [model, left]);
  if (model.parts.length === 0) return <p class="diff-none">The content stays the same.</p>;
  return (
    <div
      class={`diff diff-${mode} ${onClick ? "diff-notable" : ""}`}
      onClick={(event) => onClick?.(event.target)}
    >
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <colgroup>
          {COLUMNS[mode].map((name, at) => <col key={at} class={name} />)}
        </colgroup>
        <Head mode={mode} />
        {parts.map(({ part, rows }, at) => (
          <PartView key={`${at}:${part.fold}`} part={part} rows={rows} mode={mode} />
        ))}
      </table>
      {left > 0 && (
        <More
          rest={count(left, "more line")}
          next={Math.min(left, MORE_LINES)}
          onMore={() => setLimit(limit + MORE_LINES)}
        />
      )}
    </div>
  );
}

const COLUMNS = {
  unified: ["col-number", "col-number", "col-sign", "col-text"],
  split: ["col-number", "col-text", "col-number", "col-text"],
};

function Head({ mode }: { mode: DiffMode }) {
  const names = mode === "unified" ? ["Old", "New", "", "Text"] : ["Old", "Text", "New", "Text"];
  return (
    <thead class="visually-hidden">
      <tr>
        {names.map((name, at) =>
          name === "" ? <td key={at} /> : <th key={at} scope="col">{name}</th>
        )}
      </tr>
    </thead>
  );
}

function PartView({ part, rows, mode }: ShownPart & { mode: DiffMode }) {
  const [open, setOpen] = useState(false);
  if (part.fold !== null && !open) {
    return (
      <tbody>
        <tr class="fold">
          <td colSpan={4}>
            <button type="button" class="fold-button" onClick={() => setOpen(true)}>
              Show {part.fold}
            </button>
          </td>
        </tr>
      </tbody>
    );
  }
  if (mode === "unified") {
    const lines = part.lines.slice(0, rows);
    return <tbody>{lines.map((line, at) => <UnifiedRow key={at} line={line} />)}</tbody>;
  }
  return (
    <tbody>
      {pairs(part.lines).slice(0, rows).map(([left, right], at) => (
        <tr key={at}>
          <Side line={left} side="a" />
          <Side line={right} side="b" />
        </tr>
      ))}
    </tbody>
  );
}

const SIGNS: Record<Line["kind"], string> = { same: "", add: "+", del: "-", note: "" };

function UnifiedRow({ line }: { line: Line }) {
  return (
    <tr class={`line-${line.kind}`}>
      <td class="line-number">{line.a}</td>
      <td class="line-number">{line.b}</td>
      <td class="line-sign">{SIGNS[line.kind]}</td>
      <td class="line-text">
        <DiffLine line={line} />
      </td>
    </tr>
  );
}

function Side({ line, side }: { line: Line | null; side: "a" | "b" }) {
  if (!line) {
    return (
      <>
        <td class="line-number line-empty" />
        <td class="line-text line-empty" />
      </>
    );
  }
  return (
    <>
      <td class={`line-number line-${line.kind}`}>{line[side]}</td>
      <td class={`line-text line-${line.kind}`}>
        <DiffLine line={line} />
      </td>
    </>
  );
}

/** A part of which the first rows are shown. */
interface ShownPart {
  part: Part;
  rows: number;
}

// Folded lines are not rendered, so only open ones count. A row of the split view shows a removed
// line beside the one that replaces it, so a part is paired before it is cut.
function take(
  parts: Part[],
  limit: number,
  mode: DiffMode,
): { parts: ShownPart[]; left: number } {
  const shown: ShownPart[] = [];
  let room = limit;
  let left = 0;
  for (const part of parts) {
    if (part.fold !== null && room > 0) {
      shown.push({ part, rows: Infinity });
      continue;
    }
    const rows = mode === "split"
      ? pairs(part.lines).map(([a, b]) => a === b ? [a] : [a, b])
      : part.lines.map((line) => [line]);
    if (room > 0) shown.push({ part, rows: room });
    left += real(rows.slice(Math.max(0, room)).flat());
    room -= rows.length;
  }
  return { parts: shown, left };
}

function real(lines: (Line | null)[]): number {
  return lines.filter((line) => line !== null && line.kind !== "note").length;
}

/** One line of a diff with its changed parts marked. */
function DiffLine({ line }: { line: Line }) {
  if (line.kind === "note") return <span class="line-note">{line.text}</span>;
  if (line.text === "") return <br />;
  if (line.marks.length === 0) return <Text value={line.text} code />;
  return (
    <>
      {stretches(line).map(([text, marked], at) =>
        marked
          ? (
            <mark key={at}>
              <Text value={text} code />
            </mark>
          )
          : <Text key={at} value={text} code />
      )}
    </>
  );
}

function stretches(line: Line): [string, boolean][] {
  const found: [string, boolean][] = [];
  let from = 0;
  for (const [start, end] of line.marks) {
    if (start > from) found.push([line.text.slice(from, start), false]);
    found.push([line.text.slice(start, end), true]);
    from = end;
  }
  if (from < line.text.length) found.push([line.text.slice(from), false]);
  return found;
}

/** Pairs removed lines with the added lines that replace them. */
function pairs(lines: readonly Line[]): [Line | null, Line | null][] {
  const rows: [Line | null, Line | null][] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      rows.push([removed[at] ?? null, added[at] ?? null]);
    }
    removed = [];
    added = [];
  };
  for (const [at, line] of lines.entries()) {
    if (line.kind === "del") {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === "add") added.push(line);
    else if (line.kind === "note" && removed.length + added.length > 0) {
      (lines[at - 1]?.kind === "del" ? removed : added).push(line);
    } else {
      flush();
      rows.push([line, line]);
    }
  }
  flush();
  return rows;
}
