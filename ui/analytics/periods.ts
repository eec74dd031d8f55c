const DAY_MS = 86_400_000;

/** A number of whole days in a chart, with its first day and the day after its last. */
export interface Period {
  from: string;
  to: string;
}

/** The first day (UTC) of a window such as `30d`, as the daemon counts it. */
export function firstDay(window: string, now: number): string {
  return dayOf(now - parseInt(window) * DAY_MS);
}

/** The periods of a window up to today: days, weeks of a longer window, months of a year. */
export function periodsOf(window: string, now: number): Period[] {
  const days = parseInt(window);
  const length = days <= 45 ? 1 : days <= 200 ? 7 : days <= 800 ? 30 : 90;
  const end = Date.parse(dayOf(now)) + DAY_MS;
  const first = Date.parse(firstDay(window, now));
  const periods: Period[] = [];
  for (let to = end; to > first; to -= length * DAY_MS) {
    periods.unshift({ from: dayOf(Math.max(first, to - length * DAY_MS)), to: dayOf(to) });
  }
  return periods;
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
