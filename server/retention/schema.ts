import { z } from "zod";

/** `GET /api/retention`. */
export const RetentionView = z.object({
  project_id: z.string(),
  days: z.number().int().nullable()
    .describe("contents of actions that were settled earlier may be dropped; null for never"),
});
export type RetentionView = z.infer<typeof RetentionView>;

/** Body of `POST /api/retention/gc`. */
export const GcInput = z.strictObject({
  dry_run: z.boolean().default(false),
  days: z.number().int().min(1).max(36_500).optional()
    .describe("of a dry run: as if the config named this number of days"),
});
export type GcInput = z.infer<typeof GcInput>;

const Amount = z.object({
  contents: z.number().int(),
  bytes: z.number().int().describe("as stored, compressed"),
});

/** Answer of `POST /api/retention/gc`. */
export const GcResult = z.object({
  project_id: z.string(),
  dry_run: z.boolean(),
  days: z.number().int(),
  until: z.iso.datetime().describe("only contents of actions that were settled before this time"),
  dropped: Amount.describe("of a dry run: what would be dropped"),
  needed: Amount.describe("as old, but kept: a newer or unsettled action needs them"),
  obstacle: z.string().nullable()
    .describe("of a dry run: why a call that drops them would be refused now; else null"),
});
export type GcResult = z.infer<typeof GcResult>;
