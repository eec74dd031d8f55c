import { dayName, localOf, timeName } from "./hours.ts";

const DAY_MS = 86_400_000;

/** A part of a chart's time, from a day or moment up to another one. */
export interface Period {
  from: string;
  to: string;
}

/**
 * A number of minutes, hours or days such as `30m`, `6h` or `30d`, until the moment or day before
 * `to`, or until now.
 */
export interface Range {
  window: string;
  to: string | null;
}

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: DAY_MS };
/** A longer range is counted by days. */
export const MOST_EXACT_MS = 2 * DAY_MS;

/** Whether a range is counted to the minute; others count days. */
export function isExact({ window }: Range): boolean {
  return !window.endsWith("d");
}

export function lengthOf(window: string): number {
  return parseInt(window) * UNITS[window.slice(-1)]!;
}

/** The window of so many milliseconds. */
export function windowOf(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  if (ms > MOST_EXACT_MS) return `${Math.round(ms / DAY_MS)}d`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}

/** The first day (UTC) of a range of days, as the daemon counts it. */
export function firstDay({ window, to }: Range, now: number): string {
  return dayOf((to === null ? now : Date.parse(to)) - lengthOf(window));
}

/** A moment as addresses have it, to the second. */
export function momentName(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** The periods of a range of days: days, weeks of a longer range, months of a year. */
export function periodsOf(range: Range, now: number): Period[] {
  const days = lengthOf(range.window) / DAY_MS;
  const length = days <= 45 ? 1 : days <= 200 ? 7 : days <= 800 ? 30 : 90;
  const end = range.to === null ? Date.parse(dayOf(now)) + DAY_MS : Date.parse(range.to);
  const first = Date.parse(firstDay(range, now));
  const periods: Period[] = [];
  for (let to = end; to > first; to -= length * DAY_MS) {
    periods.unshift({ from: dayOf(Math.max(first, to - length * DAY_MS)), to: dayOf(to) });
  }
  return periods;
}

/** The steps between two moments; the first and the last one can be shorter. */
export function stepsOf(from: number, to: number, minutes: number): Period[] {
  const step = minutes * 60_000;
  const periods: Period[] = [];
  for (let at = Math.floor(from / step) * step; at < to; at += step) {
    periods.push({
      from: new Date(Math.max(at, from)).toISOString(),
      to: new Date(at + step).toISOString(),
    });
  }
  return periods;
}

/** The present day (UTC). */
export function today(): string {
  return dayOf(Date.now());
}

/** The day so many days later. */
export function addDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS);
}

function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS;
}

/** The weekday of a period of one day, 0 is Sunday; null for a longer one. */
export function weekdayOf({ from, to }: Period): number | null {
  return daysBetween(from, to) === 1 ? new Date(from).getUTCDay() : null;
}

/** "Nov 3", "Nov 3 to Nov 9", or "14:05 to 14:10". Days are those of UTC, times of this zone. */
export function periodName({ from, to }: Period): string {
  if (from.includes("T")) {
    const today = localOf(Date.now()).slice(0, 10);
    return `${timeName(from, today)} to ${timeName(to, localOf(Date.parse(from)).slice(0, 10))}`;
  }
  const last = dayOf(Date.parse(to) - DAY_MS);
  return from === last ? dayName(from) : `${dayName(from)} to ${dayName(last)}`;
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
