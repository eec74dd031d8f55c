import { CliError, EXIT } from "../errors.ts";

const MS = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** The moment that `30d`, `12h`, `2w` or a date means, as records have it. @throws CliError */
export function readSince(text: string, now: number): string {
  const [, count, unit] = /^(\d{1,4})([hdw])$/.exec(text) ?? [];
  const at = count ? now - Number(count) * MS[unit as keyof typeof MS] : Date.parse(text);
  const isDate = count !== undefined || /^\d{4}-\d{2}-\d{2}/.test(text);
  if (isDate && Number.isFinite(at)) return new Date(at).toISOString();
  throw new CliError(`Cannot read "${text}": --since takes 12h, 30d, 2w or a date`, {
    next: "--since 30d",
    exit: EXIT.usage,
  });
}
