import { z } from "zod";

/** The standard input of a host's hook, as the host wrote it. */
export const HookInput = z.record(z.string(), z.unknown());
export type HookInput = z.infer<typeof HookInput>;

/** Query of `POST /api/hooks/:host`. */
export const HookQuery = z.object({
  wait_ms: z.coerce.number().int().min(0).max(300_000).optional()
    .describe("how long to wait for a person's decision; 20000 by default"),
  project_dir: z.string().max(4096).optional()
    .describe("the folder of the host's session, when the host names it"),
});
export type HookQuery = z.infer<typeof HookQuery>;

/** The answer in the host's own shape. */
export const HookOutput = z.record(z.string(), z.unknown());
