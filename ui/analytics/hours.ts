/** The days of a week from Monday; the number is that of the daemon, where 0 is Sunday. */
export const WEEKDAYS = [
  { day: 1, name: "Monday" },
  { day: 2, name: "Tuesday" },
  { day: 3, name: "Wednesday" },
  { day: 4, name: "Thursday" },
  { day: 5, name: "Friday" },
  { day: 6, name: "Saturday" },
  { day: 0, name: "Sunday" },
] as const;

/** One hour of a week. */
export interface WeekHour {
  weekday: number;
  hour: number;
}

/** Whole hours between this time zone and UTC; 0 for a zone with a part of an hour. */
export function offsetHours(minutes: number = -new Date().getTimezoneOffset()): number {
  return Number.isInteger(minutes / 60) ? minutes / 60 : 0;
}

/** The same hour of the week in a time zone so many hours ahead. */
export function shifted({ weekday, hour }: WeekHour, hours: number): WeekHour {
  const week = 7 * 24;
  const at = ((weekday * 24 + hour + hours) % week + week) % week;
  return { weekday: Math.floor(at / 24), hour: at % 24 };
}

/** "UTC", "UTC+2", "UTC−5". */
export function zoneName(hours: number = offsetHours()): string {
  if (hours === 0) return "UTC";
  return `UTC${hours > 0 ? "+" : "−"}${Math.abs(hours)}`;
}

/** A moment in this time zone: its day and its minute, as a field for both has them. */
export function localOf(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  return new Date(at + offsetHours(minutes) * 3_600_000).toISOString().slice(0, 16);
}

/** The moment of a day and minute in this time zone. */
export function momentOf(local: string): number {
  const near = Date.parse(`${local}Z`) - offsetHours() * 3_600_000;
  const minutes = -new Date(near).getTimezoneOffset();
  return Date.parse(`${local}Z`) - offsetHours(minutes) * 3_600_000;
}

/** "Nov 3, 14:05", with the year if it is another one; the day is left out if it is `today`. */
export function timeName(at: string, today?: string): string {
  const [day = "", time = ""] = localOf(Date.parse(at)).split("T");
  return day === today ? time : `${dayName(day)}, ${time}`;
}

/** An hour of the day as on a 24-hour clock: "09:00". */
export function clock(hour: number): string {
  return `${String(hour).padStart(2, "0")}:00`;
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
