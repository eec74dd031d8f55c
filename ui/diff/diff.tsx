import { useEffect, useMemo, useState } from "preact/hooks";
import { More } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { provenKey } from "../state/auth.ts";
import type { Colours } from "./colours.ts";
import { createDiff, type DiffModel, type Line, type Part } from "./diff_model.ts";

export type DiffMode = "unified" | "split";

interface DiffProps {
  /** The file's path, which tells its language; without one the text has no colours. */
  path?: string | null;
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
  { path = null, before, after, mode, caption, skips_blanks = false, onClick, onShown }: DiffProps,
) {
  const model = useMemo(
    () => createDiff(before, after, { skips_blanks }),
    [before, after, skips_blanks],
  );
  const colours = useColours(path, before, after);
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
          <PartView
            key={`${at}:${part.fold}`}
            part={part}
            rows={rows}
            mode={mode}
            colours={colours}
          />
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

/** The colours of both sides. The diff is there first, and they follow. */
interface Coloured {
  before: Colours[] | null;
  after: Colours[] | null;
  cut: typeof import("./colours.ts").cutByColour;
}

function useColours(
  path: string | null,
  before: string | null,
  after: string | null,
): Coloured | null {
  const [colours, setColours] = useState<Coloured | null>(null);
  useEffect(() => {
    if (path === null) return;
    let isLate = false;
    const read = async () => {
      await provenKey();
      const { coloursOf, cutByColour: cut } = await import("./colours.ts");
      const first = before === null ? null : await coloursOf(path, before);
      const second = after === null ? null : await coloursOf(path, after);
      if (!isLate && (first ?? second) !== null) setColours({ before: first, after: second, cut });
    };
    // Without colours the text is the same.
    const timer = setTimeout(() => void read().catch(() => {}), AFTER_MS);
    return () => {
      isLate = true;
      clearTimeout(timer);
      setColours(null);
    };
  }, [path, before, after]);
  return colours;
}

/** The page is drawn and answers keys before it colours. */
const AFTER_MS = 50;

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

interface PartProps extends ShownPart {
  mode: DiffMode;
  colours: Coloured | null;
}

function PartView({ part, rows, mode, colours }: PartProps) {
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
    return (
      <tbody>
        {lines.map((line, at) => <UnifiedRow key={at} line={line} colours={colours} />)}
      </tbody>
    );
  }
  return (
    <tbody>
      {pairs(part.lines).slice(0, rows).map(([left, right], at) => (
        <tr key={at}>
          <Side line={left} side="a" colours={colours} />
          <Side line={right} side="b" colours={colours} />
        </tr>
      ))}
    </tbody>
  );
}

const SIGNS: Record<Line["kind"], string> = { same: "", add: "+", del: "-", note: "" };

interface LineProps {
  line: Line;
  colours: Coloured | null;
}

function UnifiedRow({ line, colours }: LineProps) {
  return (
    <tr class={`line-${line.kind}`}>
      <td class="line-number">{line.a}</td>
      <td class="line-number">{line.b}</td>
      <td class="line-sign">{SIGNS[line.kind]}</td>
      <td class="line-text">
        <DiffLine line={line} colours={colours} />
      </td>
    </tr>
  );
}

interface SideProps {
  line: Line | null;
  side: "a" | "b";
  colours: Coloured | null;
}

function Side({ line, side, colours }: SideProps) {
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
        <DiffLine line={line} colours={colours} />
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
function DiffLine({ line, colours }: LineProps) {
  if (line.kind === "note") return <span class="line-note">{line.text}</span>;
  if (line.text === "") return <br />;
  const own = ofLine(line, colours);
  if (line.marks.length === 0 && own.length === 0) return <Text value={line.text} code />;
  return (
    <>
      {stretches(line).map(({ text, from, marked }) => {
        const pieces = own.length === 0
          ? <Text key={from} value={text} code />
          : colours!.cut(text, from, own).map((piece, at) =>
            piece.colour === null
              ? <Text key={at} value={piece.text} code />
              : (
                <span key={at} class={`code-${piece.colour}`}>
                  <Text value={piece.text} code />
                </span>
              )
          );
        return marked ? <mark key={from}>{pieces}</mark> : pieces;
      })}
    </>
  );
}

function ofLine({ kind, a, b, text }: Line, colours: Coloured | null): Colours {
  if (colours === null || text.length > MOST_COLOURED) return [];
  if (kind === "del") return colours.before?.[a! - 1] ?? [];
  return colours.after?.[b! - 1] ?? [];
}

/** A longer line is data. */
const MOST_COLOURED = 1_000;

interface Stretch {
  text: string;
  from: number;
  marked: boolean;
}

function stretches(line: Line): Stretch[] {
  const found: Stretch[] = [];
  const take = (from: number, to: number, marked: boolean) => {
    if (to > from) found.push({ text: line.text.slice(from, to), from, marked });
  };
  let from = 0;
  for (const [start, end] of line.marks) {
    take(from, start, false);
    take(start, end, true);
    from = end;
  }
  take(from, line.text.length, false);
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
