import type { Execution, Scenario } from "./schema.ts";

/** What a run says of one area of the system. */
export interface AreaConfidence {
  area: string;
  passed: number;
  failed: number;
  /** Share that passed, null where nothing was decided. */
  rate: number | null;
  /** 95 % Wilson bounds of that share: few scenarios leave them far apart. */
  low: number;
  high: number;
}

/** One row an area, sorted by name; skipped and inconclusive scenarios count for nothing. */
export function confidenceOf(scenarios: Scenario[], executions: Execution[]): AreaConfidence[] {
  const areaOf = new Map(scenarios.map((one) => [one.scenario_id, one.confidence_area]));
  const counts = new Map<string, { passed: number; failed: number }>();
  for (const { scenario_id, status } of executions) {
    if (status !== "passed" && status !== "failed") continue;
    const area = areaOf.get(scenario_id)!;
    const count = counts.get(area) ?? { passed: 0, failed: 0 };
    count[status] += 1;
    counts.set(area, count);
  }
  return [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([area, { passed, failed }]) => ({
    area,
    passed,
    failed,
    rate: round(passed / (passed + failed)),
    ...wilson(passed, passed + failed),
  }));
}

/** Wilson's score interval at 95 % (E. B. Wilson, 1927). */
export function wilson(passed: number, total: number): { low: number; high: number } {
  if (total === 0) return { low: 0, high: 1 };
  const z = 1.959964;
  const share = passed / total;
  const centre = share + z * z / (2 * total);
  const spread = z * Math.sqrt(share * (1 - share) / total + z * z / (4 * total * total));
  const scale = 1 + z * z / total;
  return { low: round((centre - spread) / scale), high: round((centre + spread) / scale) };
}

function round(value: number): number {
  return Math.min(1, Math.max(0, Math.round(value * 1_000) / 1_000));
}
