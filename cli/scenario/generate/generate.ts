import { byPriority, type Scenario } from "../schema.ts";
import { ACCESS } from "./families/access.ts";
import { BODY } from "./families/body.ts";
import { FIELDS } from "./families/fields.ts";
import { PROTOCOL } from "./families/protocol.ts";
import { RACE } from "./families/race.ts";
import { VALUES } from "./families/values.ts";
import { type Depth, DEPTHS, type Draft, draftsOf, type Family } from "./family.ts";
import { endsLogin, endsService, type Operation } from "./operation.ts";
import type { CliPage } from "./help/explore.ts";
import { CLI_FAMILIES } from "./help/families.ts";
import { cliDrafts } from "./help/story.ts";
import { oddUpdates } from "./playbooks/odd_updates.ts";
import { playbookDrafts } from "./playbooks/playbooks.ts";
import { draftInQuery } from "./query_body.ts";
import type { Try } from "./tries.ts";

/** Every family of one request. Those of several requests are in `playbooks/`. */
export const FAMILIES: readonly Family[] = [
  ...PROTOCOL,
  ...ACCESS,
  ...RACE,
  ...BODY,
  ...FIELDS,
  ...VALUES,
];

export interface GenerateOptions {
  depth: Depth;
  /** The most scenarios. Each operation gets one before any gets a second. */
  budget?: number;
  /** The logins of the run (`--as`). */
  identities?: readonly string[];
  /** The tries that run on request (`--try`). */
  tries?: readonly Try[];
  /** The number of the first id. */
  first_id?: number;
}

/** Scenarios for operations. The same input gives the same bytes. */
export function generateScenarios(operations: Operation[], options: GenerateOptions): Scenario[] {
  const reach = DEPTHS.indexOf(options.depth);
  const families = FAMILIES.filter(({ depth }) => DEPTHS.indexOf(depth) <= reach);
  const single = operations.flatMap((operation) =>
    families.filter(({ name }) => !operation.unlisted || UNLISTED.includes(name))
      .flatMap((family) => draftsOf(operation, family))
      .filter(({ exec }) => exec?.anonymous || !(endsLogin(operation) || endsService(operation)))
  );
  const harmless = operations.filter((one) => !endsService(one) && !one.unlisted);
  const several = reach === 0 ? [] : [
    ...playbookDrafts(harmless, options.identities, options.tries),
    ...oddUpdates(harmless, single),
  ];
  const byOperation = new Map(operations.map((operation) => [operation, [] as Draft[]]));
  const sent = [...single, ...several].map(draftInQuery).filter((one) => one !== null);
  for (const draft of sent) byOperation.get(draft.operation)!.push(draft);
  const perOperation = [...byOperation.values()].map((drafts) => drafts.sort(byWorth));
  return numbered(perOperation, options);
}

/** The scenarios of an address that no document describes. */
const UNLISTED = ["secrets_shown", "graph_schema"];

/** Scenarios for the commands of a program. */
export function generateCliScenarios(pages: CliPage[], options: GenerateOptions): Scenario[] {
  const reach = DEPTHS.indexOf(options.depth);
  const families = CLI_FAMILIES.filter(({ depth }) => DEPTHS.indexOf(depth) <= reach);
  const perPage = pages.map((page) =>
    families.flatMap((family) => cliDrafts(page, family)).sort(byWorth)
  );
  return numbered(perPage, options);
}

function numbered(lists: Draft[][], options: GenerateOptions): Scenario[] {
  const drafts = deal(lists, options.budget ?? Infinity).sort(byWeight);
  const first = options.first_id ?? 1;
  return drafts.map(({ operation, family, ...scenario }, index) => ({
    scenario_id: `TS-${String(first + index).padStart(3, "0")}`,
    ...scenario,
    family,
    operation: `${operation.method} ${operation.path}`,
    ...(operation.source === null ? {} : { source: operation.source }),
    ...(operation.line === null ? {} : { line: operation.line }),
    ...(operation.changes || operation.learned?.changes ? { changes: true } : {}),
  }));
}

/** Deals round robin: the first draft of each operation, then the second of each, and so on. */
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

/** Sorts good cases first, because the canary learns from them; then by priority. */
function byWorth(a: Draft, b: Draft): number {
  return Number(a.is_edge_case) - Number(b.is_edge_case) ||
    byPriority(a, b);
}

/** Sorts by priority, area, path, method and family, so that the ids are stable. */
function byWeight(a: Draft, b: Draft): number {
  return byPriority(a, b) ||
    compare(a.confidence_area, b.confidence_area) ||
    compare(a.operation.path, b.operation.path) ||
    compare(a.operation.method, b.operation.method) ||
    compare(a.family, b.family) ||
    compare(a.title, b.title);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
