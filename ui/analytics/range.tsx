import { Button, Segmented } from "../parts/button.tsx";
import { useAddress } from "../state/address.ts";
import { bind, useKeys } from "../state/keys.ts";
import { addDays, daysBetween, firstDay, periodName, type Range, today } from "./periods.ts";

const WINDOWS = [
  { value: "1d", label: "1 day" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "90d", label: "90 days" },
  { value: "365d", label: "1 year" },
] as const;

/** The longest range, in days. */
const MOST = 3650;

/** The range in the address, and how to change it: by days, by its length or by its place. */
export function useRange() {
  const address = useAddress();
  const range = rangeOf(address.query["window"], address.query["to"]);
  const set = ({ window, to }: Range, push = true) =>
    address.set({ window: window === "30d" ? null : window, to }, { push });
  const days = parseInt(range.window);
  return {
    range,
    /** The last days until now. */
    last: (window: string) => set({ window, to: null }),
    /** The days from `from` up to and not including `to`. */
    between(from: string, to: string) {
      const length = Math.max(1, Math.min(MOST, daysBetween(from, to)));
      set({ window: `${length}d`, to: addDays(from, length) });
    },
    /** As many days before or after these; never later than today. */
    move(by: 1 | -1) {
      const end = range.to ?? addDays(today(), 1);
      const to = addDays(end, by * days);
      set({ window: range.window, to: to > today() ? null : to });
    },
    turn(by: 1 | -1) {
      const at = WINDOWS.findLastIndex(({ value }) => parseInt(value) <= days);
      const isBetween = by < 0 && parseInt(WINDOWS[at]?.value ?? "0") < days;
      const next = WINDOWS[Math.max(0, Math.min(WINDOWS.length - 1, isBetween ? at : at + by))]!;
      set({ window: next.value, to: range.to });
    },
  };
}

/** Days and the day after the last of them as in the address; the last 30 days for anything else. */
function rangeOf(window: string | undefined, to: string | undefined): Range {
  const isWindow = /^[1-9]\d{0,3}d$/.test(window ?? "") && parseInt(window!) <= MOST;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(to ?? "") && !Number.isNaN(Date.parse(to!));
  return {
    window: isWindow ? window! : "30d",
    to: isDay && to! <= addDays(today(), 1) ? to! : null,
  };
}

/** Chooses the days of the page: a length, two dates, or the days before and after. */
export function RangePicker({ choose }: { choose: ReturnType<typeof useRange> }) {
  const { range, last, between, move, turn } = choose;
  useKeys(bind(
    "Show",
    ["+", "Show a longer time", () => turn(1)],
    ["-", "Show a shorter time", () => turn(-1)],
    ["[", "Show the time before", () => move(-1)],
    ["]", "Show the time after", () => range.to !== null && move(1)],
  ));
  const from = firstDay(range, Date.now());
  const until = range.to ?? addDays(today(), 1);
  const isLast = range.to === null;
  return (
    <div class="range">
      <Segmented
        label="Time"
        value={isLast ? range.window : ""}
        options={WINDOWS}
        onChange={(window) => last(window)}
      />
      <DayField label="From" value={from} onChange={(day) => day < until && between(day, until)} />
      <DayField
        label="To"
        value={addDays(until, -1)}
        onChange={(day) => day >= from && between(from, addDays(day, 1))}
      />
      <span class="range-steps">
        <Button kind="quiet" keys="[" onClick={() => move(-1)}>Earlier</Button>
        <Button kind="quiet" keys="]" disabled={isLast} onClick={() => move(1)}>Later</Button>
      </span>
      <span class="visually-hidden" role="status">
        {periodName({ from, to: until })}
      </span>
    </div>
  );
}

interface DayFieldProps {
  label: string;
  value: string;
  onChange: (day: string) => void;
}

function DayField({ label, value, onChange }: DayFieldProps) {
  return (
    <label class="field range-day">
      <span class="quiet">{label}</span>
      <input
        type="date"
        value={value}
        max={today()}
        onChange={({ currentTarget }) => {
          // The browser gives an empty text for a day that does not exist.
          if (currentTarget.value !== "") onChange(currentTarget.value);
          currentTarget.value = value;
        }}
      />
    </label>
  );
}
