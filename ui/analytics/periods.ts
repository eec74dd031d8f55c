const DAY_MS = 86_400_000;

/** A number of whole days in a chart, with its first day and the day after its last. */
export interface Period {
  from: string;
  to: string;
}

/** A number of days such as `30d`, until the day before `to`, or until now. */
export interface Range {
  window: string;
  to: string | null;
}

/** The first day (UTC) of a range, as the daemon counts it. */
export function firstDay({ window, to }: Range, now: number): string {
  return dayOf((to === null ? now : Date.parse(to)) - parseInt(window) * DAY_MS);
}

/** The periods of a range: days, weeks of a longer range, months of a year. */
export function periodsOf(range: Range, now: number): Period[] {
  const days = parseInt(range.window);
  const length = days <= 45 ? 1 : days <= 200 ? 7 : days <= 800 ? 30 : 90;
  const end = range.to === null ? Date.parse(dayOf(now)) + DAY_MS : Date.parse(range.to);
  const first = Date.parse(firstDay(range, now));
  const periods: Period[] = [];
  for (let to = end; to > first; to -= length * DAY_MS) {
    periods.unshift({ from: dayOf(Math.max(first, to - length * DAY_MS)), to: dayOf(to) });
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

export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

/** The weekday of a period of one day, 0 is Sunday; null for a longer one. */
export function weekdayOf({ from, to }: Period): number | null {
  return daysBetween(from, to) === 1 ? new Date(from).getUTCDay() : null;
}

/** "Nov 3", or "Nov 3 to Nov 9". Days are those of UTC. */
export function periodName({ from, to }: Period): string {
  const last = dayOf(Date.parse(to) - DAY_MS);
  return from === last ? dayName(from) : `${dayName(from)} to ${dayName(last)}`;
}

/** "Nov 3", with the year if it is another one. */
export function dayName(day: string, year = new Date().getUTCFullYear()): string {
  const isOther = !day.startsWith(String(year));
  return new Date(day).toLocaleDateString("en-US", {
    month: "short",
    day: "numeric",
    timeZone: "UTC",
    ...isOther && { year: "numeric" },
  });
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
