import { z } from "zod";
import { ActionStatus } from "../actions/schema.ts";
import { Effect, Policies, PolicyEntry, Rule } from "../policy/schema.ts";

const since = z.iso.datetime().describe("only what was recorded since then");

/** Body of `POST /api/policy/replay`. Without policies it replays those in force. */
export const PolicyReplayInput = z.strictObject({
  since,
  policies: Policies.optional().describe("keys left out stay as they are in the project's config"),
  whole: z.boolean().optional().describe("the policies take the place of the project's own"),
  cursor: z.string().optional().describe("the `next_cursor` of the page before"),
});
export type PolicyReplayInput = z.infer<typeof PolicyReplayInput>;

/** A recorded action with another decision under the replayed policy. */
export const ReplayedAction = z.object({
  id: z.string(),
  what: z.string().describe("the command or path, else the tool"),
  status: ActionStatus,
  was: Effect,
  now: Effect,
  rule_before: Rule.nullable(),
});
export type ReplayedAction = z.infer<typeof ReplayedAction>;

/** The differences. An action that was asked and is now allowed is a saved prompt as well. */
export const ReplayCounts = z.object({
  newly_blocked: z.number().int(),
  newly_asked: z.number().int(),
  newly_allowed: z.number().int(),
  prompts_saved: z.number().int(),
  rejected_now_allowed: z.number().int().describe("a person said no to it"),
});
export type ReplayCounts = z.infer<typeof ReplayCounts>;

/** The changes by one rule; `rule` is null for the default. */
export const RuleReplay = ReplayCounts.extend({
  rule: Rule.nullable(),
  examples: z.array(ReplayedAction).describe("some of them, those that a person rejected first"),
});
export type RuleReplay = z.infer<typeof RuleReplay>;

/** Actions that cannot be evaluated again, by reason. */
export const Unjudged = z.object({
  why: z.string(),
  count: z.number().int(),
  examples: z.array(z.string()),
});
export type Unjudged = z.infer<typeof Unjudged>;

/** One page of `POST /api/policy/replay`, newest actions first. The client adds up the pages. */
export const PolicyReplayPage = z.object({
  checked: z.number().int(),
  totals: ReplayCounts,
  rules: z.array(RuleReplay),
  unjudged: z.array(Unjudged),
  reached: z.string().nullable().describe("when the oldest action of the page was recorded"),
  next_cursor: z.string().nullable(),
});
export type PolicyReplayPage = z.infer<typeof PolicyReplayPage>;

/** Body of `POST /api/policy/suggest`. */
export const PolicySuggestInput = z.strictObject({ since });
export type PolicySuggestInput = z.infer<typeof PolicySuggestInput>;

/** An allow rule that the history supports. */
export const PolicySuggestion = z.object({
  list: z.enum(["allowedPaths", "allowedCommands"]),
  entry: PolicyEntry,
  learned_from: z.number().int().describe("approvals of the older half that it stands for"),
  prompts_saved: z.number().int().describe("approvals of the newer half that it would have spared"),
  rejected_let_through: z.number().int().describe("always 0: anything else is not offered"),
  examples: z.array(z.string()).describe("ids of actions"),
});
export type PolicySuggestion = z.infer<typeof PolicySuggestion>;

/** Answer of `POST /api/policy/suggest`. */
export const PolicySuggestions = z.object({
  asked: z.number().int().describe("actions that a person was asked about"),
  approved: z.number().int(),
  rejected: z.number().int(),
  older: z.number().int().describe("of the asked ones, those that rules were learned from"),
  newer: z.number().int().describe("of the asked ones, those that rules were scored on"),
  prompts_saved: z.number().int().describe("in the newer half, by all suggestions together"),
  suggestions: z.array(PolicySuggestion),
  turned_down: z.array(z.object({ pattern: z.string(), why: z.string() })),
  sandbox: z.array(z.object({
    list: z.enum(["hosts", "writable"]),
    entry: z.string(),
    opened: z.number().int().describe("approvals that opened this wall of the sandbox"),
  })).describe("walls of the sandbox that people opened again and again"),
  unjudged: z.array(Unjudged),
  truncated: z.boolean().describe("there was more history than was looked at"),
});
export type PolicySuggestions = z.infer<typeof PolicySuggestions>;
