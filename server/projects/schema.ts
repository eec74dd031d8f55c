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

/** Body of `POST /api/hub/projects`: registers the project with a config in `root`. */
export const RegisterProjectInput = z.strictObject({ root: z.string().min(1).max(4096) });
export type RegisterProjectInput = z.infer<typeof RegisterProjectInput>;
