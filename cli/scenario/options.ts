import { InvalidArgumentError } from "@commander-js/extra-typings";
import { Priority } from "./schema.ts";

/** `-H "Name: value"`, added to those given before. */
export function header(text: string, given: Record<string, string>): Record<string, string> {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(text);
  if (!match) throw new InvalidArgumentError('It must look like "Name: value".');
  return { ...given, [match[1]!]: match[2]! };
}

/** Headers by the name of whom they make a request come from. */
export type Identities = Map<string, Record<string, string>>;

/** `--as "alice=Authorization: Bearer …"`; several headers for one name add up. */
export function identity(text: string, given: Identities): Identities {
  const match = /^([A-Za-z][\w-]{0,31})=(.*)$/s.exec(text);
  if (!match) throw new InvalidArgumentError('It must look like "alice=Authorization: Bearer …".');
  const [, name = "", value = ""] = match;
  return new Map([...given, [name, header(value, given.get(name) ?? {})]]);
}

/** A value that may be given again and again, or several at once with commas. */
export function list(text: string, given: string[]): string[] {
  return [...given, ...text.split(",").map((part) => part.trim()).filter((part) => part !== "")];
}

/** A value that may be given again and again, commas and all. */
export function repeated(text: string, given: string[]): string[] {
  return [...given, text];
}

/** `--priority critical,high`. */
export function priorities(text: string, given: Priority[]): Priority[] {
  const known = list(text, []).map((name) => Priority.safeParse(name));
  if (known.some(({ success }) => !success)) {
    throw new InvalidArgumentError(`It must be of ${Priority.options.join(", ")}.`);
  }
  return [...given, ...known.map(({ data }) => data!)];
}

/** `--chaos`, or with names: `tz-far,home-missing` for these alone, `-cwd-deleted` for all but it. */
export function conditions(known: readonly string[]): (text: string) => string[] {
  return (text) => {
    const given = list(text, []).filter((name) => name !== "all");
    const left = given.filter((name) => name.startsWith("-")).map((name) => name.slice(1));
    const named = given.filter((name) => !name.startsWith("-"));
    const strange = [...named, ...left].find((name) => !known.includes(name));
    if (strange !== undefined) {
      throw new InvalidArgumentError(`There is no "${strange}": choose of ${known.join(", ")}.`);
    }
    return (named.length > 0 ? named : [...known]).filter((name) => !left.includes(name));
  };
}

/** A whole number in a range. */
export function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most) {
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
    }
    return value;
  };
}

/** `10s`, `500ms`, `2m` or plain milliseconds, as milliseconds. */
export function duration(text: string): number {
  const match = /^(\d{1,9})(ms|s|m)?$/.exec(text);
  const unit = { ms: 1, s: 1_000, m: 60_000 }[match?.[2] ?? "ms"]!;
  const ms = Number(match?.[1]) * unit;
  if (!match || ms < 1 || ms > 3_600_000) {
    throw new InvalidArgumentError("It must look like 500ms, 10s or 2m, and be an hour at most.");
  }
  return ms;
}

/** One of the words that are known. */
export function oneOf<T extends string>(choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new InvalidArgumentError(`Choose ${choices.join(", ")}.`);
    return found;
  };
}
