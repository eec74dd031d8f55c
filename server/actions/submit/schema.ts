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

export const RollbackToolInput = z.strictObject({ action_id: z.string() });
export type RollbackToolInput = z.infer<typeof RollbackToolInput>;
