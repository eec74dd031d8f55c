import { z } from "zod";

/** An automatic block of a session or of an agent: its calls are denied until then, or until a lift. */
export const Block = z.object({
  id: z.string(),
  project_id: z.string(),
  session_id: z.string(),
  action_id: z.string().nullable().describe("the action that led to it"),
  reason: z.string(),
  agent: z.string().nullable().describe("blocks every session of this agent; null: one session"),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable().describe("null: only a reviewer ends it"),
  lifted_at: z.iso.datetime().nullable(),
  lifted_by: z.string().nullable(),
});
export type Block = z.infer<typeof Block>;

/** Answer of `GET /api/remediation/blocks`: the active blocks, newest first. */
export const BlockList = z.object({ items: z.array(Block) });
export type BlockList = z.infer<typeof BlockList>;

/** Body of `POST /api/remediation/blocks/:block_id/unblock`. */
export const UnblockInput = z.strictObject({ reason: z.string().max(4000).optional() });
export type UnblockInput = z.infer<typeof UnblockInput>;

const id = z.string().min(1).max(64);

/** Body of `POST /api/remediation/assess`: an action or a session, as it is or rolled back. */
export const AssessInput = z.strictObject({
  action_id: id.optional(),
  session_id: id.optional(),
  rollback: z.boolean().optional().describe("the risk of rolling it back"),
}).refine(({ action_id, session_id }) => (action_id === undefined) !== (session_id === undefined), {
  error: 'give exactly one of "action_id" and "session_id"',
});
export type AssessInput = z.infer<typeof AssessInput>;

/** Body of `POST /api/remediation/evaluate-policy` and `…/recommend`. */
export const SessionChoice = z.strictObject({ session_id: id });
export type SessionChoice = z.infer<typeof SessionChoice>;

/** Answer of `POST /api/remediation/evaluate-policy`. */
export const Compliance = z.object({
  compliant: z.boolean(),
  violations: z.array(z.object({
    rule: z.enum([
      "secret_touched",
      "review_skipped",
      "blocked_attempt",
      "unreviewed_overwrite",
      "unreviewed_risk",
      "budget_spent",
      "guarded_file_changed",
      "session_blocked",
    ]),
    action_id: z.string().nullable(),
    why: z.string(),
  })),
  budget: z.array(z.object({
    of: z.enum(["files", "bytes", "deletions"]),
    spent: z.number().int(),
    limit: z.number().int(),
  })).describe("what the session changed without a person; beyond a limit a person is asked"),
});
export type Compliance = z.infer<typeof Compliance>;

/** Answer of `POST /api/remediation/recommend`: the strategies, the best first. */
export const Recommendations = z.array(z.object({
  strategy: z.string(),
  score: z.number().int().min(0).max(100),
  why: z.string(),
  steps: z.array(z.string()),
  call: z.object({
    method: z.enum(["GET", "POST", "DELETE"]),
    path: z.string(),
    body: z.record(z.string(), z.unknown()).nullable(),
  }),
}));
export type Recommendations = z.infer<typeof Recommendations>;
