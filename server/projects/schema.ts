import { z } from "zod";

/** A registered project, with the number of its pending actions. */
export const HubProject = z.object({
  id: z.string(),
  name: z.string(),
  roots: z.array(z.string()),
  pending_count: z.number().int(),
  last_activity_at: z.string().nullable(),
  reachable: z.boolean(),
  workspace_ids: z.array(z.string()),
});
export type HubProject = z.infer<typeof HubProject>;

/** Answer of `POST /api/hub/projects`. */
export const RegisteredProject = HubProject.extend({
  warnings: z.array(z.string()).describe("what a person should know about the config"),
});
export type RegisteredProject = z.infer<typeof RegisteredProject>;

/** Body of `POST /api/hub/projects`: registers the project with a config in `root`. */
export const RegisterProjectInput = z.strictObject({ root: z.string().min(1).max(4096) });
export type RegisterProjectInput = z.infer<typeof RegisterProjectInput>;

/** Whether a person trusts the project's `overrideGlobal` on this machine. */
export const OverrideTrust = z.object({ id: z.string(), trusted: z.boolean() });
