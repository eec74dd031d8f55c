import { z } from "zod";

/** The id of a workspace, on the command line and in addresses. */
export const WorkspaceId = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  "expected 1 to 64 letters, digits, dots, dashes or underscores, the first a letter or digit",
);

/** A named set of projects. */
export const Workspace = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.iso.datetime(),
  project_ids: z.array(z.string()).describe("those that are registered, in the order of joining"),
});
export type Workspace = z.infer<typeof Workspace>;

/** Limits a query over all projects to one workspace. */
export const InWorkspace = z.object({ workspace: WorkspaceId.optional() });

/** Body of `POST /api/workspaces`. */
export const CreateWorkspaceInput = z.strictObject({
  id: WorkspaceId,
  name: z.string().regex(/^[^\p{C}]{1,200}$/u, "expected 1 to 200 visible characters"),
});
export type CreateWorkspaceInput = z.infer<typeof CreateWorkspaceInput>;

/** Body of `POST /api/workspaces/:id/projects`: adds the project with a config in `root`. */
export const AddWorkspaceProjectInput = z.strictObject({ root: z.string().min(1).max(4096) });
