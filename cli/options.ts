import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { ZodType } from "zod";

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads a length of time such as `90s`, `15m`, `1h` or `7d`; in seconds. */
export function parseSpan(text: string): number {
  const [, amount, unit] = /^([1-9]\d{0,7})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * UNITS[unit!]!;
  throw new InvalidArgumentError("It takes a length of time such as 90s, 15m, 1h or 7d.");
}

/** Reads a whole number of that range from the command line. */
export function countBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It takes a whole number from ${least} to ${most}.`);
  };
}

/** Reads what a schema of the API takes, and refuses in its words what it does not. */
export function matching(schema: ZodType): (text: string) => string {
  return (text) => {
    const { error } = schema.safeParse(text);
    if (!error) return text;
    throw new InvalidArgumentError(`It is refused: ${error.issues[0]!.message}.`);
  };
}
