import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConfigView } from "../../server/config/schema.ts";
import type { PolicyEntry } from "../../server/policy/schema.ts";
import type { PolicyReplayPage, ReplayCounts, ReplayedAction } from "../../server/trials/schema.ts";
import { api, explain, unwrap } from "../state/client.ts";

/** The lists that a project's own rules are in, and what each does. */
export const LISTS = {
  allowedCommands: "Allow commands",
  askCommands: "Ask about commands",
  blockedCommands: "Deny commands",
  allowedPaths: "Allow paths",
  askPaths: "Ask about paths",
  blockedPaths: "Deny paths",
  allowedTools: "Allow tools",
  askTools: "Ask about tools",
  blockedTools: "Deny tools",
} as const;
export type List = keyof typeof LISTS;

/** What a rule would have changed so far in the replay. */
export interface Replay {
  checked: number;
  totals: ReplayCounts;
  examples: ReplayedAction[];
  unjudged: number;
  reached: string | null;
  isDone: boolean;
}

const DAYS_MS = 30 * 86_400_000;
/** Waits for a pause in typing, because a replay reads the records of a month. */
const PAUSE_MS = 400;
const MOST_PAGES = 200;
const MOST_EXAMPLES = 12;

/** The project's own policies with one more rule. */
export function withRule({ config }: ConfigView, list: List, entry: PolicyEntry) {
  return { [list]: [...config.policies?.[list] ?? [], entry] };
}

/** Replays the actions of 30 days with one more rule, page by page, while it is typed. */
export function useReplay(project: string, view: ConfigView, list: List, entry: PolicyEntry) {
  const replay = useSignal<Replay | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    replay.value = null;
    problem.value = null;
    if (entry === "") return;
    let late = false;
    const timer = setTimeout(async () => {
      const policies = withRule(view, list, entry);
      const since = new Date(Date.now() - DAYS_MS).toISOString();
      let sum = NOTHING;
      try {
        for (let cursor: string | null | undefined, page = 0; cursor !== null; page++) {
          const json = { since, policies, ...cursor && { cursor } };
          const answer: PolicyReplayPage = await unwrap(
            api(project).api.policy.replay.$post({ json }),
          );
          if (late) return;
          cursor = page + 1 < MOST_PAGES ? answer.next_cursor : null;
          sum = added(sum, answer, answer.next_cursor === null);
          replay.value = sum;
        }
      } catch (error) {
        if (!late) problem.value = explain(error);
      }
    }, PAUSE_MS);
    return () => {
      late = true;
      clearTimeout(timer);
    };
  }, [project, view.etag, list, JSON.stringify(entry)]);
  return { replay: replay.value, problem: problem.value };
}

const NO_COUNTS: ReplayCounts = {
  newly_blocked: 0,
  newly_asked: 0,
  newly_allowed: 0,
  prompts_saved: 0,
  rejected_now_allowed: 0,
};
const NOTHING: Replay = {
  checked: 0,
  totals: NO_COUNTS,
  examples: [],
  unjudged: 0,
  reached: null,
  isDone: false,
};

function added(sum: Replay, page: PolicyReplayPage, isDone: boolean): Replay {
  const totals = { ...sum.totals };
  for (const name of Object.keys(NO_COUNTS) as (keyof ReplayCounts)[]) {
    totals[name] += page.totals[name];
  }
  return {
    checked: sum.checked + page.checked,
    totals,
    examples: [...sum.examples, ...page.rules.flatMap(({ examples }) => examples)]
      .slice(0, MOST_EXAMPLES),
    unjudged: sum.unjudged + page.unjudged.reduce((total, { count }) => total + count, 0),
    reached: page.reached ?? sum.reached,
    isDone,
  };
}
