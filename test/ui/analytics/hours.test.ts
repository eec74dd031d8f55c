import { expect, test } from "vitest";
import {
  clock,
  localOf,
  momentOf,
  offsetHours,
  shifted,
  timeName,
  zoneName,
} from "../../../ui/analytics/hours.ts";
import {
  firstDay,
  momentName,
  periodName,
  periodsOf,
  stepsOf,
  windowOf,
} from "../../../ui/analytics/periods.ts";

test.each([
  [{ weekday: 0, hour: 23 }, 2, { weekday: 1, hour: 1 }],
  [{ weekday: 0, hour: 1 }, -5, { weekday: 6, hour: 20 }],
  [{ weekday: 6, hour: 12 }, 14, { weekday: 0, hour: 2 }],
  [{ weekday: 3, hour: 9 }, 0, { weekday: 3, hour: 9 }],
])("%o is %i hours later %o, and back", (at, hours, moved) => {
  expect(shifted(at, hours)).toEqual(moved);
  expect(shifted(moved, -hours)).toEqual(at);
});

test("a zone with a part of an hour is shown in UTC", () => {
  expect(offsetHours(330)).toBe(0);
  expect(offsetHours(-300)).toBe(-5);
  expect([0, 2, -5].map(zoneName)).toEqual(["UTC", "UTC+2", "UTC−5"]);
  expect(clock(7)).toBe("07:00");
});

const NOON = Date.parse("2026-03-10T12:00:00Z");

test.each([["1d", 2, 1], ["30d", 31, 1], ["90d", 13, 7], ["365d", 13, 30], ["3650d", 41, 90]])(
  "a window of %s has %i periods without a gap",
  (window, count, days) => {
    const periods = periodsOf({ window, to: null }, NOON);
    expect(periods.length).toBe(count);
    expect(periods[0]!.from).toBe(firstDay({ window, to: null }, NOON));
    expect(periods.at(-1)!.to).toBe("2026-03-11");
    periods.slice(1).forEach(({ from, to }, at) => {
      expect(from).toBe(periods[at]!.to);
      expect(Date.parse(to) - Date.parse(from)).toBe(days * 86_400_000);
    });
  },
);

test("a range that ends before a day has exactly its days", () => {
  const range = { window: "3d", to: "2026-03-05" };
  expect(periodsOf(range, NOON).map(({ from }) => from))
    .toEqual(["2026-03-02", "2026-03-03", "2026-03-04"]);
  expect(firstDay(range, NOON)).toBe("2026-03-02");
});

test("a period is named by its days", () => {
  const year = String(new Date().getUTCFullYear());
  expect(periodName({ from: `${year}-03-01`, to: `${year}-03-02` })).toBe("Mar 1");
  expect(periodName({ from: `${year}-03-01`, to: `${year}-03-08` })).toBe("Mar 1 to Mar 7");
  expect(periodName({ from: "1999-03-01", to: "1999-03-02" })).toBe("Mar 1, 1999");
});

test("steps follow each other without a gap; only the first one can begin late", () => {
  const steps = stepsOf(NOON + 3 * 60_000, NOON + 21 * 60_000, 5);
  expect(steps.map(({ from, to }) => `${from.slice(11, 16)} ${to.slice(11, 16)}`))
    .toEqual(["12:03 12:05", "12:05 12:10", "12:10 12:15", "12:15 12:20", "12:20 12:25"]);
});

test.each([
  [15 * 60_000, "15m"],
  [90 * 60_000, "90m"],
  [6 * 3_600_000, "6h"],
  [48 * 3_600_000, "48h"],
  [72 * 3_600_000, "3d"],
  [1, "1m"],
])("%i ms are the window %s", (ms, window) => expect(windowOf(ms)).toBe(window));

test.each([NOON, Date.parse("2026-07-01T23:30:00Z"), Date.parse("2026-01-01T00:00:00Z")])(
  "the field of a moment leads back to it",
  (at) => {
    expect(momentOf(localOf(at))).toBe(at);
    expect(Date.parse(momentName(at))).toBe(at);
  },
);

test("a step is named by its times, with the day if it is another one", () => {
  const at = Date.parse(`${localOf(Date.now()).slice(0, 10)}T12:00Z`);
  const [from, to] = [momentName(at), momentName(at + 5 * 60_000)];
  const clockOf = (moment: number) => localOf(moment).slice(11);
  const today = localOf(Date.now()).slice(0, 10);
  expect(timeName(from, today).endsWith(clockOf(at))).toBe(true);
  expect(periodName({ from, to }).endsWith(` to ${clockOf(at + 5 * 60_000)}`)).toBe(true);
  expect(periodName({ from: "1999-03-01T10:00Z", to: "1999-03-01T10:05Z" })).toMatch(/1999, \d\d:/);
});
