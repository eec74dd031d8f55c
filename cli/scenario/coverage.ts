import type { Scenario } from "./schema.ts";

/** Which families were generated for which operation. */
export interface Coverage {
  operations: number;
  families: number;
  /** Operation → the names of its families, both sorted. */
  matrix: Record<string, string[]>;
}

/** The matrix of the generated scenarios; null where none was generated. */
export function coverageOf(scenarios: Scenario[]): Coverage | null {
  const cells = new Map<string, Set<string>>();
  for (const { operation, family } of scenarios) {
    if (typeof operation !== "string" || typeof family !== "string") continue;
    cells.set(operation, (cells.get(operation) ?? new Set()).add(family));
  }
  if (cells.size === 0) return null;
  const rows = [...cells].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([operation, families]) => [operation, [...families].sort()] as const);
  const families = new Set(rows.flatMap(([, names]) => names)).size;
  return { operations: cells.size, families, matrix: Object.fromEntries(rows) };
}
