import { useRef } from "preact/hooks";
import { Button, Segmented } from "../parts/button.tsx";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { localOf, momentOf } from "./hours.ts";
import {
  addDays,
  firstDay,
  isExact,
  lengthOf,
  momentName,
  MOST_EXACT_MS,
  type Period,
  periodName,
  type Range,
  today,
  windowOf,
} from "./periods.ts";

const WINDOWS = [
  { value: "1h", label: "1 hour" },
  { value: "6h", label: "6 hours" },
  { value: "24h", label: "24 hours" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "90d", label: "90 days" },
  { value: "365d", label: "1 year" },
] as const;

/** The longest range, in days. */
const MOST = 3650;
const MINUTE_MS = 60_000;

/** The range in the address, and how to change it: by its ends, its length or its place. */
export function useRange() {
  const address = useAddress();
  const range = rangeOf(address.query["window"], address.query["to"]);
  const set = (next: Range) => {
    const { window, to } = normalized(next);
    address.set({ window: window === "30d" ? null : window, to }, { push: true });
  };
  const length = lengthOf(range.window);
  return {
    range,
    /** The last hours or days until now. */
    last: (window: string) => set({ window, to: null }),
    /** From one day or moment up to and not including another; up to two days are counted exactly. */
    between(from: string, to: string) {
      const begin = Date.parse(from);
      const window = windowOf(Math.min(Date.parse(to) - begin, lengthOf(`${MOST}d`)));
      set({ window, to: momentName(begin + lengthOf(window)) });
    },
    /** As much time before or after this; never later than now. */
    move(by: 1 | -1) {
      const end = range.to === null ? endOf(range) : Date.parse(range.to);
      const to = end + by * length;
      set({ window: range.window, to: to > Date.now() ? null : momentName(to) });
    },
    turn(by: 1 | -1) {
      const at = WINDOWS.findLastIndex(({ value }) => lengthOf(value) <= length);
      const isBetween = by < 0 && at >= 0 && lengthOf(WINDOWS[at]!.value) < length;
      const next = WINDOWS[Math.max(0, Math.min(WINDOWS.length - 1, isBetween ? at : at + by))]!;
      set({ window: next.value, to: range.to });
    },
  };
}

/** The end of a range that goes on until now, as a whole number of days or of minutes. */
function endOf(range: Range): number {
  if (!isExact(range)) return Date.parse(addDays(today(), 1));
  const whole = lengthOf(range.window) > 6 * 60 * MINUTE_MS ? 30 * MINUTE_MS : 5 * MINUTE_MS;
  return Math.ceil(Date.now() / whole) * whole;
}

/** The range as addresses have it. One that would end in the future ends now. */
function normalized({ window, to }: Range): Range {
  if (to === null) return { window, to };
  const isHours = isExact({ window, to });
  // A part of a day belongs to the days that are shown.
  const end = isHours || to.length === DAY.length
    ? to
    : addDays(momentName(Date.parse(to) - 1).slice(0, DAY.length), 1);
  const last = isHours ? Date.now() + 60 * MINUTE_MS : Date.parse(addDays(today(), 1));
  return { window, to: Date.parse(end) > last ? null : end };
}

const DAY = "YYYY-MM-DD";

/** The range of an address; the last 30 days for anything else. */
function rangeOf(window: string | undefined, to: string | undefined): Range {
  const isWindow = /^[1-9]\d{0,3}[mhd]$/.test(window ?? "") &&
    lengthOf(window!) <=
      (isExact({ window: window!, to: null }) ? MOST_EXACT_MS : lengthOf(`${MOST}d`));
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/.test(to ?? "") &&
    !Number.isNaN(Date.parse(to!));
  return normalized({ window: isWindow ? window! : "30d", to: isTime ? to! : null });
}

/** Chooses the time of the page: a length, two ends, or the time before and after. */
export function RangePicker({ choose }: { choose: ReturnType<typeof useRange> }) {
  const { range, last, move, turn } = choose;
  useKeys(bind(
    "Show",
    ["+", "Show a longer time", () => turn(1)],
    ["-", "Show a shorter time", () => turn(-1)],
    ["[", "Show the time before", () => move(-1)],
    ["]", "Show the time after", () => range.to !== null && move(1)],
  ));
  const isLast = range.to === null;
  return (
    <div class="range">
      <Segmented
        label="Time"
        value={isLast ? range.window : ""}
        options={WINDOWS}
        onChange={(window) => last(window)}
      />
      {isExact(range) ? <Moments choose={choose} /> : <Days choose={choose} />}
      <span class="range-steps">
        <Button kind="quiet" keys="[" onClick={() => move(-1)}>Earlier</Button>
        <Button kind="quiet" keys="]" disabled={isLast} onClick={() => move(1)}>Later</Button>
      </span>
    </div>
  );
}

interface EndsProps {
  choose: ReturnType<typeof useRange>;
}

function Days({ choose: { range, between } }: EndsProps) {
  const from = firstDay(range, Date.now());
  const until = range.to ?? addDays(today(), 1);
  return (
    <>
      <EndField
        kind="date"
        label="From"
        value={from}
        most={today()}
        onChange={(day) => day < until && between(day, until)}
      />
      <EndField
        kind="date"
        label="To"
        value={addDays(until, -1)}
        most={today()}
        onChange={(day) => day >= from && between(from, addDays(day, 1))}
      />
      <Told period={{ from, to: until }} />
    </>
  );
}

function Moments({ choose: { range, between } }: EndsProps) {
  const until = range.to === null ? Date.now() : Date.parse(range.to);
  const from = until - lengthOf(range.window);
  const set = (begin: number, end: number) =>
    begin < end && between(momentName(begin), momentName(end));
  const most = localOf(Date.now());
  return (
    <>
      <EndField
        kind="datetime-local"
        label="From"
        value={localOf(from)}
        most={most}
        onChange={(local) => set(momentOf(local), until)}
      />
      <EndField
        kind="datetime-local"
        label="To"
        value={localOf(until)}
        most={most}
        onChange={(local) => set(from, momentOf(local))}
      />
      <Told period={{ from: momentName(from), to: momentName(until) }} />
    </>
  );
}

function Told({ period }: { period: Period }) {
  return <span class="visually-hidden" role="status">{periodName(period)}</span>;
}

interface EndFieldProps {
  kind: "date" | "datetime-local";
  label: string;
  value: string;
  most: string;
  onChange: (value: string) => void;
}

function EndField({ kind, label, value, most, onChange }: EndFieldProps) {
  // A date is typed in parts, so it counts when the person leaves the field. One from the calendar
  // counts at once.
  const isTyping = useRef(false);
  const take = (input: HTMLInputElement) => {
    isTyping.current = false;
    // The browser gives an empty text for a day that does not exist.
    if (input.value !== "" && input.value !== value) onChange(input.value);
    input.value = value;
  };
  return (
    <label class="field range-end">
      <span class="quiet">{label}</span>
      <input
        key={kind}
        type={kind}
        value={value}
        max={most}
        onKeyDown={({ key, currentTarget }) => {
          if (key === "Enter") take(currentTarget);
          else isTyping.current = true;
        }}
        onChange={({ currentTarget }) => isTyping.current || take(currentTarget)}
        onBlur={({ currentTarget }) => take(currentTarget)}
      />
    </label>
  );
}
