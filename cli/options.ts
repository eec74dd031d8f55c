import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { ZodType } from "zod";

/** The end of a help text: one example a line. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}\n`).join("")}`;
}

/** The help text of every argument that is an action's id. */
export const ACTION_ID = "the action's id, or the first digits of it if no other action has them";

/** The help text of an option that takes a `Time` of the API. */
export const TIME_FORMAT = "2026-03-01 or 2026-03-01T12:00:00Z";

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Parses a duration such as `90s`, `15m`, `1h` or `7d` into seconds. */
export function parseSpan(text: string): number {
  const [, amount, unit] = /^([1-9]\d{0,7})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Number(amount) * UNITS[unit!]!;
  throw new InvalidArgumentError("It takes a length of time such as 90s, 15m, 1h or 7d.");
}

/** A parser for whole numbers from `least` to `most`. */
export function countBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It takes a whole number from ${least} to ${most}.`);
  };
}

/** A parser that accepts what a schema of the API accepts, and otherwise says what it expects. */
export function matching(schema: ZodType): (text: string) => string {
  return (text) => {
    const { error } = schema.safeParse(text);
    if (!error) return text;
    throw new InvalidArgumentError(sentence(error.issues[0]!.message));
  };
}

function sentence(message: string): string {
  return `${message[0]!.toUpperCase()}${message.slice(1)}.`;
}
