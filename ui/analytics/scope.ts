import type { AnalyticsSummary } from "../../server/analytics/schema.ts";
import type { PolicyHit } from "../../server/policy/schema.ts";

/** The data of a page of pictures. */
export interface Scope {
  summary: AnalyticsSummary;
  /** How often each rule decided since the ledger began; null for several projects. */
  hits: PolicyHit[] | null;
  /** The first day of the window. */
  since: string;
}
