import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { AnalyticsSummary } from "../../server/analytics/schema.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { count, number } from "../parts/words.ts";
import { useAddress } from "../state/address.ts";
import { dayName, localOf, timeName, zoneName } from "./hours.ts";
import { type Period, periodName, periodsOf, type Range, stepsOf, weekdayOf } from "./periods.ts";
import { pointed, type Scope } from "./scope.ts";

type Part = Pick<
  AnalyticsSummary["decisions"]["by_day"][number],
  "allowed" | "approved" | "rejected" | "blocked" | "expired" | "cancelled"
>;

/** The outcomes, from the foot of a column to its top. */
const OUTCOMES = [
  { name: "allowed", word: "Allowed by policy", icon: "allowed", of: (part: Part) => part.allowed },
  {
    name: "approved",
    word: "Approved by a person",
    icon: "check",
    of: (part: Part) => part.approved - part.allowed,
  },
  { name: "rejected", word: "Rejected", icon: "x", of: (part: Part) => part.rejected },
  { name: "blocked", word: "Blocked", icon: "ban", of: (part: Part) => part.blocked },
  { name: "expired", word: "Expired", icon: "clock", of: (part: Part) => part.expired },
  { name: "cancelled", word: "Cancelled", icon: "dot", of: (part: Part) => part.cancelled },
] as const satisfies { name: string; word: string; icon: IconName; of: (part: Part) => number }[];

interface Column {
  period: Period;
  counts: number[];
  total: number;
}

interface OverTimeProps {
  scope: Scope;
  onZoom: (from: string, to: string) => void;
}

/**
 * Decisions over time, stacked by outcome. A column opens its decisions, its name in the key too; to
 * drag over some columns shows their time alone.
 */
export function OverTime({ scope, onZoom }: OverTimeProps) {
  const { summary, range, decided } = scope;
  const address = useAddress();
  const columns = columnsOf(summary, range);
  const used = OUTCOMES.filter((_, at) => columns.some(({ counts }) => counts[at]! > 0));
  const open = (period: Period) => ({ decided_from: period.from, decided_to: period.to });
  const middle = columns[Math.floor(columns.length / 2)]!;
  return (
    <section class="room-part analytics-part" aria-labelledby="analytics-time">
      <h2 id="analytics-time">Decisions over time</h2>
      <p class="quiet">{scaleOf(summary, columns)}</p>
      <ul class="key-list">
        {used.map(({ name, word, icon }) => (
          <li key={name}>
            <a href={address.href("/actions", { outcome: name, ...decided })}>
              <span class={`swatch fill-${name}`}>
                <Icon name={icon} />
              </span>
              {word}
            </a>
          </li>
        ))}
      </ul>
      <div class="chart">
        <Columns columns={columns} open={open} onZoom={onZoom} />
        <p class="chart-days quiet small" aria-hidden="true">
          <span>{beginOf(columns[0]!.period)}</span>
          {columns.length > 4 && <span>{beginOf(middle.period)}</span>}
          {columns.length > 1 && <span>{beginOf(columns.at(-1)!.period)}</span>}
        </p>
      </div>
      <Numbers columns={columns} used={used} open={open} />
    </section>
  );
}

/** "Each column is 5 minutes, in UTC+2." */
function scaleOf({ decisions: { by_step } }: AnalyticsSummary, columns: Column[]): string {
  if (by_step !== null) {
    const { minutes } = by_step;
    const length = minutes === 60 ? "one hour" : count(minutes, "minute");
    return `Each column is ${length}, in ${zoneName()}.`;
  }
  const isDays = columns.every(({ period }) => weekdayOf(period) !== null);
  return isDays ? "Each column is one day, in UTC." : "Each column is several days, in UTC.";
}

/** The day or the time at which a period begins. */
function beginOf({ from }: Period): string {
  return from.includes("T") ? timeName(from, localOf(Date.now()).slice(0, 10)) : dayName(from);
}

interface ColumnsProps {
  columns: Column[];
  open: (period: Period) => Record<string, string>;
  onZoom: (from: string, to: string) => void;
}

function Columns({ columns, open, onZoom }: ColumnsProps) {
  const address = useAddress();
  const most = Math.max(1, ...columns.map(({ total }) => total));
  /** The columns under the pointer and where it was pressed; null outside of the chart. */
  const at = useSignal<number | null>(null);
  const pressed = useSignal<number | null>(null);
  const wasDragged = useRef(false);
  const point = (next: number | null) => {
    at.value = next;
    pointed.value = next === null ? null : weekdayOf(columns[next]!.period);
  };
  const release = () => {
    const [from, to] = [pressed.value, at.value];
    pressed.value = null;
    wasDragged.current = from !== null && to !== null && from !== to;
    if (from === null || to === null || from === to) return;
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    onZoom(columns[first]!.period.from, columns[last]!.period.to);
  };
  const classOf = (column: Column, index: number) => {
    const [from, to] = [pressed.value, at.value];
    const isChosen = from !== null && to !== null && from !== to &&
      index >= Math.min(from, to) && index <= Math.max(from, to);
    const isPointed = to === null && pointed.value !== null &&
      weekdayOf(column.period) === pointed.value;
    return isChosen ? "column-chosen" : isPointed || to === index ? "column-pointed" : undefined;
  };
  return (
    <>
      <p class="chart-told quiet small" aria-hidden="true">
        {at.value !== null && columns[at.value]
          ? told(columns[at.value]!)
          : `At most ${count(most, "decision")}. Drag to zoom in.`}
      </p>
      <ol
        class="columns"
        onPointerLeave={() => {
          pressed.value = null;
          point(null);
        }}
        onPointerUp={release}
      >
        {columns.map((column, index) => (
          <li
            key={column.period.from}
            class={classOf(column, index)}
            onPointerEnter={() => point(index)}
            onPointerDown={({ button }) => {
              if (button === 0) pressed.value = index;
            }}
          >
            <a
              href={address.href("/actions", open(column.period))}
              draggable={false}
              aria-label={told(column)}
              onFocus={() => point(index)}
              onBlur={() => point(null)}
              onClick={(event) => {
                if (wasDragged.current) event.preventDefault();
                wasDragged.current = false;
              }}
            >
              <Stack column={column} most={most} />
            </a>
          </li>
        ))}
      </ol>
    </>
  );
}

function columnsOf({ from, decisions }: AnalyticsSummary, range: Range): Column[] {
  const { by_day, by_step } = decisions;
  if (by_step === null) {
    return periodsOf(range, Date.now()).map((period) =>
      columnOf(period, by_day.filter(({ day }) => day >= period.from && day < period.to))
    );
  }
  const end = range.to === null ? Date.now() : Date.parse(range.to);
  // The first period can begin later than its step.
  return stepsOf(Date.parse(from), end, by_step.minutes).map((period) =>
    columnOf(
      period,
      by_step.steps.filter(({ at }) => at < period.to && endOf(at, by_step) > period.from),
    )
  );
}

function endOf(at: string, { minutes }: { minutes: number }): string {
  return new Date(Date.parse(at) + minutes * 60_000).toISOString();
}

function columnOf(period: Period, parts: Part[]): Column {
  const counts = OUTCOMES.map(({ of }) => parts.reduce((sum, part) => sum + of(part), 0));
  return { period, counts, total: counts.reduce((sum, n) => sum + n, 0) };
}

function told({ period, counts, total }: Column): string {
  const parts = OUTCOMES.flatMap(({ word }, at) =>
    counts[at] === 0 ? [] : [`${number(counts[at]!)} ${word.toLowerCase()}`]
  );
  const list = parts.length === 0 ? "" : `: ${parts.join(", ")}`;
  return `${periodName(period)}: ${count(total, "decision")}${list}`;
}

function Stack({ column: { counts }, most }: { column: Column; most: number }) {
  let top = 100;
  return (
    <svg class="column" viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true">
      {OUTCOMES.map(({ name }, at) => {
        const height = 100 * counts[at]! / most;
        top -= height;
        return height === 0
          ? null
          : <rect key={name} class={`fill-${name}`} x="0" y={top} width="10" height={height} />;
      })}
    </svg>
  );
}

interface NumbersProps {
  columns: Column[];
  used: readonly (typeof OUTCOMES)[number][];
  open: (period: Period) => Record<string, string>;
}

/** The same as numbers, newest first; each opens its decisions. */
function Numbers({ columns, used, open }: NumbersProps) {
  const address = useAddress();
  const rows = columns.filter(({ total }) => total > 0).reverse();
  return (
    <details>
      <summary class="link">Show the numbers</summary>
      <div class="wide-table" tabIndex={0} role="region" aria-label="Numbers of decisions">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">Time</th>
              {used.map(({ name, word }) => <th key={name} scope="col">{word}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ period, counts }) => (
              <tr key={period.from}>
                <th scope="row">{periodName(period)}</th>
                {used.map((outcome) => {
                  const n = counts[OUTCOMES.indexOf(outcome)]!;
                  const changes = { ...open(period), outcome: outcome.name };
                  return (
                    <td key={outcome.name}>
                      {n === 0
                        ? <span class="quiet">0</span>
                        : <a href={address.href("/actions", changes)}>{number(n)}</a>}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
