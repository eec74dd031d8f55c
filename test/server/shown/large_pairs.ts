const LINES = 10_000;
const base = Array.from({ length: LINES }, (_, at) => at % 5 === 0 ? "" : `  line ${at};`);
const random = (seed: number) => () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
const shuffled = (() => {
  const next = random(7);
  return base.map((line) => [next(), line] as const).sort(([x], [y]) => x - y)
    .map(([, line]) => line);
})();
/** Pairs of texts of 10,000 lines that are hard to compare: what differs, before, after. */
export const LARGE_PAIRS: [what: string, before: string[], after: string[]][] = [
  ["every second line changed", base, base.map((line, at) => at % 2 === 0 ? line : `${line} x`)],
  ["every line changed", base, base.map((line) => `${line} x`)],
  ["every line moved", base, shuffled],
  ["reversed", base, base.toReversed()],
  [
    "only braces and blank lines",
    base.map((_, at) => "{}; "[at % 3]!),
    base.map((_, at) => "{}; "[at * at % 4]!),
  ],
  ["indented", base, base.map((line) => `  ${line}`)],
];
