import { z } from "zod";
import { PolicyTestInput } from "../policy/schema.ts";
import { MemberId, Name, Role, WaitingList } from "../team/schema.ts";

/** The levels of risk, from the lowest. */
export const RiskLevel = z.enum(["low", "medium", "high", "critical"]);
export type RiskLevel = z.infer<typeof RiskLevel>;

/** The id of an approval route. */
export const RouteId = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  "expected 1 to 64 letters, digits, dots, dashes or underscores, the first a letter or digit",
);

const patterns = z.array(z.string().min(1).max(256)).max(100);

/**
 * The held actions of a route. `paths`, `commands` and `tools` are patterns of the policy, and one
 * match of any of them suffices; every other list that is not empty has to match too.
 */
export const RouteMatch = z.strictObject({
  paths: patterns.default([]),
  commands: patterns.default([]),
  tools: patterns.default([]),
  agents: patterns.default([]),
  hosts: patterns.default([]),
  projects: patterns.default([]),
  min_risk: RiskLevel.nullable().default(null),
});
export type RouteMatch = z.infer<typeof RouteMatch>;

/** The people who are asked: members by id, and everybody with this role or a higher one. */
export const Approvers = z.strictObject({
  members: z.array(MemberId).max(100).default([]),
  role: Role.exclude(["viewer"]).nullable().default(null),
});
export type Approvers = z.infer<typeof Approvers>;

const seconds = z.number().int().min(1).max(31_536_000).nullable();
const fractions = z.array(z.number().gt(0).lt(1)).max(10);

/** Who approves which held actions, and what happens while they wait. */
export const ApprovalRoute = z.object({
  id: RouteId,
  name: Name,
  match: RouteMatch.prefault({}),
  approvers: Approvers,
  quorum: z.number().int().min(1).max(100).default(1)
    .describe("how many of the approvers must approve"),
  ordered: z.boolean().default(false)
    .describe("the members are asked one after the other, in their order"),
  edit_needs_other: z.boolean().default(false)
    .describe("whoever edited the action cannot be the only one to approve it"),
  remind_at: fractions.default([0.5, 0.9])
    .describe("when the approvers are reminded, as parts of the time until the deadline"),
  escalate_after_seconds: seconds.default(null),
  escalate_to: z.array(MemberId).max(100).default([])
    .describe("members who may approve too from then on"),
  expires_after_seconds: seconds.default(null)
    .describe("the deadline; null: the policy's approvalTimeoutSeconds"),
});
export type ApprovalRoute = z.infer<typeof ApprovalRoute>;

/** A route as a held action keeps it. */
export const HeldRoute = ApprovalRoute.omit({ match: true });
export type HeldRoute = z.infer<typeof HeldRoute>;

/** Answer of `GET /api/approval-routes`. */
export const RouteList = z.object({
  items: z.array(ApprovalRoute),
  problem: z.string().nullable()
    .describe("why the file is not in force, and what a person must do; null if it is"),
  waiting: WaitingList.nullable().describe("the change by hand that a person can accept"),
});
export type RouteList = z.infer<typeof RouteList>;

const given = {
  match: RouteMatch.optional(),
  quorum: z.number().int().min(1).max(100).optional(),
  ordered: z.boolean().optional(),
  edit_needs_other: z.boolean().optional(),
  remind_at: fractions.optional(),
  escalate_after_seconds: seconds.optional(),
  escalate_to: z.array(MemberId).max(100).optional(),
  expires_after_seconds: seconds.optional(),
};

/** Body of `POST /api/approval-routes`. */
export const AddRouteInput = z.strictObject({
  id: RouteId.optional().describe("default: the name in lowercase letters, with dashes"),
  name: Name,
  approvers: Approvers,
  ...given,
});
export type AddRouteInput = z.infer<typeof AddRouteInput>;

/** Body of `PATCH /api/approval-routes/:id`: at least one field. */
export const ChangeRouteInput = z.strictObject({
  name: Name.optional(),
  approvers: Approvers.optional(),
  ...given,
}).refine((changes) => Object.keys(changes).length > 0, { error: "give at least one field" });
export type ChangeRouteInput = z.infer<typeof ChangeRouteInput>;

/** Body of `POST /api/approval-routes/test`: an action that an agent could submit. */
export const RouteTestInput = z.strictObject({
  ...PolicyTestInput.omit({ session_id: true }).shape,
  agent: z.string().max(256).optional(),
  host: z.string().max(256).optional(),
  risk: RiskLevel.optional().describe("default: low"),
});
export type RouteTestInput = z.infer<typeof RouteTestInput>;

/** Answer of `POST /api/approval-routes/test`. */
export const RouteTestResult = z.object({
  route: ApprovalRoute.nullable(),
  why: z.string(),
  effect: z.enum(["allow", "ask", "deny"])
    .describe("of the policy: only an action that it asks about takes a route"),
  need: z.number().int(),
  asked: z.array(z.string()).describe("the ids of the people who would be asked"),
  considered: z.array(z.object({
    id: z.string(),
    name: z.string(),
    matches: z.boolean(),
    why: z.string(),
  })),
});
export type RouteTestResult = z.infer<typeof RouteTestResult>;
