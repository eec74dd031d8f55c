import { z } from "zod";

const text = z.string();

/** The inputs of the tools, for HTTP, MCP and the library. */
export const WriteFileInput = z.strictObject({
  path: text.describe("file to write, relative to the project or absolute"),
  content: text.describe("the whole new content"),
  encoding: z.enum(["utf8", "base64"]).optional().describe(
    "how content is encoded, utf8 by default",
  ),
});
export type WriteFileInput = z.infer<typeof WriteFileInput>;

export const EditFileInput = z.strictObject({
  path: text.describe("file to edit"),
  edits: z.array(z.strictObject({ old_text: text.min(1), new_text: text })).min(1).max(1000)
    .describe("applied in order; each old_text must occur exactly once"),
});
export type EditFileInput = z.infer<typeof EditFileInput>;

export const DeleteFileInput = z.strictObject({ path: text.describe("file to delete") });
export type DeleteFileInput = z.infer<typeof DeleteFileInput>;

export const MoveFileInput = z.strictObject({
  from: text.describe("file to move"),
  to: text.describe("its new path, which must not exist"),
});
export type MoveFileInput = z.infer<typeof MoveFileInput>;

export const ReadFileInput = z.strictObject({ path: text.describe("file to read") });
export type ReadFileInput = z.infer<typeof ReadFileInput>;

export const RunCommandInput = z.strictObject({
  command: text.min(1).describe("one command line for bash"),
  cwd: text.optional().describe("folder to run in, the project's root by default"),
  outside_sandbox: z.boolean().optional().describe(
    "run without the sandbox, after a person has approved it; only for what failed in the sandbox",
  ),
  reason: text.trim().min(1).max(1_000).optional().describe(
    "with outside_sandbox: what it needs beyond the sandbox, for the person",
  ),
});
export type RunCommandInput = z.infer<typeof RunCommandInput>;

/** The longest and the usual time in which the steps of an approved plan may be submitted. */
const MAX_LEASE_SECONDS = 86_400;
export const LEASE_SECONDS = 3_600;

export const SubmitPlanInput = z.strictObject({
  title: text.trim().min(1).max(200).describe("what the steps do together, for the person"),
  steps: z.array(z.strictObject({
    tool: z.enum([
      ...["write_file", "edit_file", "delete_file", "move_file"] as const,
      ...["read_file", "run_command"] as const,
    ]),
    input: z.record(z.string(), z.unknown()).describe("the arguments of that tool"),
  })).min(1).max(50).describe("the calls that you will make, in this order"),
  lease_seconds: z.number().int().min(60).max(MAX_LEASE_SECONDS).optional()
    .describe(`how long the approval holds, ${LEASE_SECONDS} by default`),
});
export type SubmitPlanInput = z.infer<typeof SubmitPlanInput>;

export const RollbackToolInput = z.strictObject({ action_id: z.string() });
export type RollbackToolInput = z.infer<typeof RollbackToolInput>;
