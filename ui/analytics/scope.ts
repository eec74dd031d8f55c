import { signal } from "@preact/signals";
import type { AnalyticsSummary } from "../../server/analytics/schema.ts";
import type { PolicyHit } from "../../server/policy/schema.ts";
import type { Range } from "./periods.ts";

/** The data of a page of pictures. */
export interface Scope {
  summary: AnalyticsSummary;
  /** How often each rule decided since the ledger began; null for several projects. */
  hits: PolicyHit[] | null;
  range: Range;
  /** The part of an address that lists the decisions of the range. */
  decided: { decided_from: string; decided_to: string | null };
  /** The part of an address that lists the actions that were submitted in the range. */
  submitted: { from: string; to: string | null };
}

/** The weekday under the pointer or the focus: each chart marks it, so that one finds it in all. */
export const pointed = signal<number | null>(null);
