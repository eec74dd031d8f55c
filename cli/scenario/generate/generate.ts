import type { Scenario } from "../schema.ts";
import { ACCESS } from "./families/access.ts";
import { BODY } from "./families/body.ts";
import { PROTOCOL } from "./families/protocol.ts";
import { RACE } from "./families/race.ts";
import { VALUES } from "./families/values.ts";
import { type Depth, DEPTHS, type Draft, type Family } from "./family.ts";
import type { Operation } from "./operation.ts";
import { playbookDrafts } from "./playbooks.ts";

/** Every family; the order is that of the budget when not all fit. */
export const FAMILIES: readonly Family[] = [...PROTOCOL, ...ACCESS, ...RACE, ...BODY, ...VALUES];

export interface GenerateOptions {
  depth: Depth;
  /** The most scenarios, dealt out so that each operation is covered before any is covered twice. */
  budget?: number;
  /** First number of the ids. */
  first_id?: number;
}

/** Scenarios for operations: the same input gives the same bytes. */
export function generateScenarios(operations: Operation[], options: GenerateOptions): Scenario[] {
  const reach = DEPTHS.indexOf(options.depth);
  const families = FAMILIES.filter(({ depth }) => DEPTHS.indexOf(depth) <= reach);
  const perOperation = operations.map((operation) =>
    families.flatMap((family) => family.generate(operation))
  );
  const budget = options.budget ?? Infinity;
  const single = deal(perOperation, budget);
  const several = reach === 0
    ? []
    : playbookDrafts(operations).slice(0, Math.max(0, budget - single.length));
  const drafts = [...single, ...several].sort(byWeight);
  const first = options.first_id ?? 1;
  return drafts.map(({ operation, family, ...scenario }, index) => ({
    scenario_id: `TS-${String(first + index).padStart(3, "0")}`,
    ...scenario,
    family,
    operation: `${operation.method} ${operation.path}`,
    ...(operation.source === null ? {} : { source: operation.source }),
    ...(operation.line === null ? {} : { line: operation.line }),
  }));
}

/** Round robin: the first draft of each operation, then the second of each, and so on. */
function deal(lists: Draft[][], budget: number): Draft[] {
  const dealt: Draft[] = [];
  const longest = Math.max(0, ...lists.map((list) => list.length));
  for (let round = 0; round < longest; round++) {
    for (const list of lists) {
      const one = list[round];
      if (one && dealt.length < budget) dealt.push(one);
    }
  }
  return dealt;
}

const WEIGHT = { critical: 0, high: 1, medium: 2, low: 3 };

/** Ids follow priority, area, path, method and family, never the order of a hash map. */
function byWeight(a: Draft, b: Draft): number {
  return WEIGHT[a.priority] - WEIGHT[b.priority] ||
    compare(a.confidence_area, b.confidence_area) ||
    compare(a.operation.path, b.operation.path) ||
    compare(a.operation.method, b.operation.method) ||
    compare(a.family, b.family) ||
    compare(a.title, b.title);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
