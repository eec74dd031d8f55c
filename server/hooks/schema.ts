import { z } from "zod";
import { ResultInput } from "../actions/schema.ts";
import { Walls } from "../sandbox/schema.ts";

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

/** Body of `POST /api/hooks/runs/:ticket`: the process that runs the command. */
export const HookRunInput = z.strictObject({ pid: z.number().int().min(2) });
export type HookRunInput = z.infer<typeof HookRunInput>;

/** The command that a host gave to gate, or only the question whether it does so. */
export const HookRun = z.object({
  run: z.object({
    command: z.string(),
    cwd: z.string(),
    max_output_bytes: z.number().int(),
    walls: Walls,
  }).nullable().describe("null for a trial: the process only tells whether it can start a sandbox"),
});
export type HookRun = z.infer<typeof HookRun>;

/** Body of `POST /api/hooks/runs/:ticket/result`. */
export const HookRunResult = ResultInput.omit({ claim_id: true });
export type HookRunResult = z.infer<typeof HookRunResult>;

/** The walls of the sandbox that the command met, one sentence each. */
export const HookRunEnd = z.object({ walls: z.array(z.string()) });
export type HookRunEnd = z.infer<typeof HookRunEnd>;
