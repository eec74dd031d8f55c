/** The q-quantile of the values. @param q from 0 to 1 */
export function quantile(values: number[], q: number): number {
  return values.toSorted((a, b) =>
    a - b
  )[Math.min(values.length - 1, Math.floor(values.length * q))]!;
}

/** Prints the median, the 95th percentile and the maximum. */
export function report(name: string, times: number[]): void {
  const [p50, p95, worst] = [0.5, 0.95, 1].map((q) => quantile(times, q).toFixed(2));
  console.log(`  ${name.padEnd(32)} p50 ${p50} ms  p95 ${p95} ms  worst ${worst} ms`);
}

/** Prints a figure and its upper limit. */
export function compare(name: string, value: number, { most, unit }: Bar): void {
  const verdict = value <= most ? "kept" : "MISSED";
  console.log(`  ${name.padEnd(32)} ${value.toFixed(2)} ${unit} (bar ${most} ${unit}: ${verdict})`);
}

/** Prints a figure and its lower limit. */
export function least(name: string, value: number, bar: { least: number; unit: string }): void {
  const verdict = value >= bar.least ? "kept" : "MISSED";
  console.log(
    `  ${name.padEnd(32)} ${
      value.toFixed(1)
    } ${bar.unit} (bar ${bar.least} ${bar.unit}: ${verdict})`,
  );
}

export interface Bar {
  most: number;
  unit: string;
}
