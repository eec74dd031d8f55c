import { z } from "zod";

/** A grant lasts at most a quarter of a year. A longer permission belongs into the policy. */
const MAX_TTL_SECONDS = 90 * 86_400;
const MAX_USES = 10_000;

const EXAMPLE = { scope: "session" as const, ttl_seconds: 3600, max_uses: 10 };

/** The limits of a grant that an approval makes. */
export const Remember = z.strictObject({
  scope: z.enum(["session", "project"])
    .describe("for the session of the action, or for every session of the project"),
  ttl_seconds: z.number().int().min(1).max(MAX_TTL_SECONDS),
  max_uses: z.number().int().min(1).max(MAX_USES).describe("how many more times"),
  pattern: z.string().min(1).max(256).optional()
    .describe("a path or command pattern; without it the grant allows exactly the same action"),
}).meta({ examples: [EXAMPLE, { ...EXAMPLE, scope: "project", pattern: "npm publish --tag *" }] });
export type Remember = z.infer<typeof Remember>;

/** The state of a grant. Only a live grant allows an action. */
export const GrantState = z.enum(["live", "used_up", "expired", "revoked"]);
export type GrantState = z.infer<typeof GrantState>;

/** A remembered approval with limits: it answers later questions of the policy with `allow`. */
export const Grant = z.object({
  id: z.uuid(),
  project_id: z.string(),
  scope: Remember.shape.scope,
  session_id: z.string().describe("the session of the action that was approved"),
  action_id: z.string().describe("the action that was approved"),
  digest: z.string().describe("the approved plan; without a pattern the grant allows only this"),
  pattern: z.string().nullable(),
  access: z.enum(["run", "read", "write", "delete"]).nullable()
    .describe("the access that a pattern allows; null if there can be no pattern"),
  tool: z.string(),
  path: z.string().nullable(),
  command: z.string().nullable(),
  questions: z.array(z.string()).describe("the rules whose questions it answers"),
  given_by: z.string(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  max_uses: z.number().int(),
  uses: z.number().int(),
  last_used_at: z.iso.datetime().nullable(),
  revoked_at: z.iso.datetime().nullable(),
  revoked_by: z.string().nullable(),
  state: GrantState.describe("`expired` also after the end of its session"),
}).meta({
  examples: [{
    id: "0199a1b2-0000-7000-8000-000000000001",
    project_id: "my-app",
    scope: "project",
    session_id: "0199a1b0-0000-7000-8000-000000000001",
    action_id: "0199a1b1-0000-7000-8000-000000000001",
    digest: "9f3c0a55d1b7b2e04c1be7a2c7f4f26ad5ac1d7ae3d7a0a7c0b4f6e4d2b19fa1",
    pattern: "npm publish --tag *",
    access: "run",
    tool: "run_command",
    path: null,
    command: "npm publish --tag next",
    questions: ["project askCommands npm publish"],
    given_by: "reviewer",
    created_at: "2026-11-20T10:00:00.000Z",
    expires_at: "2026-11-20T11:00:00.000Z",
    max_uses: 10,
    uses: 3,
    last_used_at: "2026-11-20T10:20:00.000Z",
    revoked_at: null,
    revoked_by: null,
    state: "live",
  }],
});
export type Grant = z.infer<typeof Grant>;

/** Query of `GET /api/grants`. */
export const GrantQuery = z.object({
  project: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(500).optional(),
  cursor: z.string().max(256).optional(),
  state: GrantState.optional(),
  scope: Remember.shape.scope.optional(),
  session_id: z.string().max(256).optional(),
  action_id: z.string().max(256).optional(),
  given_by: z.string().max(256).optional(),
});
export type GrantQuery = z.infer<typeof GrantQuery>;

/** A page of grants, newest first. */
export const GrantList = z.object({ items: z.array(Grant), next_cursor: z.string().nullable() });
export type GrantList = z.infer<typeof GrantList>;

/** Body of `POST /api/grants/preview`. */
export const GrantPreviewInput = z.strictObject({
  action_id: z.string().max(256),
  pattern: Remember.shape.pattern.describe(
    "a pattern of your own, previewed beside the suggested ones",
  ),
}).meta({ examples: [{ action_id: "0199a1b1-0000-7000-8000-000000000001" }] });
export type GrantPreviewInput = z.infer<typeof GrantPreviewInput>;

/** One possible grant, with the earlier actions that it would have allowed. */
export const GrantOffer = z.object({
  pattern: z.string().nullable().describe("null allows exactly the same action"),
  says: z.string().describe("a sentence for people: the actions that it would allow"),
  matched: z.object({
    count: z.number().int(),
    rejected: z.number().int().describe("how many of those a person rejected"),
    newest: z.array(z.object({
      id: z.string(),
      created_at: z.iso.datetime(),
      agent: z.string(),
      tool: z.string(),
      path: z.string().nullable(),
      command: z.string().nullable(),
      status: z.string(),
    })),
  }).describe("among the examined actions, without the held one"),
});
export type GrantOffer = z.infer<typeof GrantOffer>;

/** Answer of `POST /api/grants/preview`. Nothing is saved. */
export const GrantPreview = z.object({
  action_id: z.string(),
  refused: z.string().nullable().describe("why this action cannot be remembered; null if it can"),
  scopes: z.array(Remember.shape.scope)
    .describe("the possible scopes; `session` is missing after the session has ended"),
  since: z.iso.datetime().describe("30 days ago"),
  looked_at: z.number().int().describe("examined actions of this kind since then"),
  complete: z.boolean().describe("false if there are more actions than could be examined"),
  offers: z.array(GrantOffer),
});
export type GrantPreview = z.infer<typeof GrantPreview>;

/** The held actions that a grant would allow if they were submitted now. */
export const GrantWaiting = z.object({
  items: z.array(z.object({ id: z.string(), digest: z.string() })).describe("oldest first"),
  alone: z.number().int().describe(
    "how many more match and need a review of their own: critical risk, a conflict or a typed text",
  ),
  complete: z.boolean().describe("false if more actions are held than were compared"),
});
export type GrantWaiting = z.infer<typeof GrantWaiting>;
