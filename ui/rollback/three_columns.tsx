import { useState } from "preact/hooks";
import { flatten } from "../../server/shown/visible.ts";
import { More } from "../parts/placeholder.tsx";
import { Text } from "../parts/text.tsx";
import { count } from "../parts/words.ts";
import { type AlignedRow, alignThree } from "./align.ts";

interface ThreeColumnsProps {
  path: string;
  before: string | null;
  left: string | null;
  now: string | null;
}

/** Equal lines that stay visible around changed ones. */
const CONTEXT = 3;
const FIRST_ROWS = 400;

const COLUMNS = ["Before", "After the agent", "Now"];

/** A file before the action, after it and now, line by line. */
export function ThreeColumns({ path, before, left, now }: ThreeColumnsProps) {
  const [limit, setLimit] = useState(FIRST_ROWS);
  const texts = [before, left, now];
  const rows = foldSame(alignThree(linesOf(before), linesOf(left), linesOf(now)));
  return (
    <section class="three" aria-label={`Three states of ${flatten(path)}`}>
      <p class="code-text">
        <Text value={path} />
      </p>
      <div class="three-scroll" tabIndex={0} role="group" aria-label="Lines">
        <table>
          <thead>
            <tr>
              {COLUMNS.map((name, at) => (
                <th key={name} scope="col">
                  {name}
                  {texts[at] === null && <span class="quiet">: no file</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((row, at) =>
              typeof row === "number"
                ? (
                  <tr key={at} class="three-fold">
                    <td colSpan={3}>{count(row, "equal line")}</td>
                  </tr>
                )
                : <Row key={at} row={row} />
            )}
          </tbody>
        </table>
      </div>
      {rows.length > limit && (
        <More
          rest={count(rows.length - limit, "more line")}
          next={Math.min(rows.length - limit, limit * 3)}
          onMore={() => setLimit(limit * 4)}
        />
      )}
    </section>
  );
}

function Row({ row: { cells, isSame } }: { row: AlignedRow }) {
  return (
    <tr>
      {cells.map((text, at) => (
        <td key={at} class={isSame ? "" : markOf(cells, at)}>
          {text !== null && <Text value={text} code />}
        </td>
      ))}
    </tr>
  );
}

/** The agent's column marks what it added; the others mark what they have instead. */
function markOf(cells: AlignedRow["cells"], at: number): string {
  const text = cells[at];
  if (text === null) return "three-none";
  if (at === 1) return cells[0] === text ? "" : "three-add";
  return cells[1] === text ? "" : at === 0 ? "three-del" : "three-new";
}

function linesOf(text: string | null): string[] {
  return text === null || text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The rows, with long runs of equal ones as their number. */
function foldSame(rows: readonly AlignedRow[]): (AlignedRow | number)[] {
  const near = new Uint8Array(rows.length);
  rows.forEach(({ isSame }, at) => {
    if (!isSame) near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const folded: (AlignedRow | number)[] = [];
  rows.forEach((row, at) => {
    const last = folded.at(-1);
    if (near[at]) folded.push(row);
    else if (typeof last === "number") folded[folded.length - 1] = last + 1;
    else folded.push(1);
  });
  return folded;
}
