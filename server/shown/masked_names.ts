/** The last of the hidden names of a sandbox, when there are too many to list. */
const COUNT = /^and (\d+) more$/;

/** The listed hidden names of a sandbox, and how many others are counted. */
export function maskedNames(masked: readonly string[]): { names: string[]; more: number } {
  const names = masked.filter((one) => !COUNT.test(one));
  const counts = masked.map((one) => Number(COUNT.exec(one)?.[1] ?? 0));
  return { names, more: Math.max(0, ...counts) };
}

/** Lists the hidden names that the command names, at least the first one, and counts the others. */
export function fewerMasked(masked: readonly string[], command: string | null): string[] {
  const { names, more } = maskedNames(masked);
  const named = names.filter((one) => command?.includes(one));
  const kept = named.length > 0 ? named : names.slice(0, 1);
  const left = names.length - kept.length + more;
  return left > 0 ? [...kept, `and ${left} more`] : kept;
}
