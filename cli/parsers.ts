import { InvalidArgumentError } from "@commander-js/extra-typings";

/** Reads a whole number of that range from the command line. */
export function countBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It takes a whole number from ${least} to ${most}.`);
  };
}
