import { z } from "zod";

/** How soon a failure has to be looked at. */
export const Priority = z.enum(["critical", "high", "medium", "low"]);
export type Priority = z.infer<typeof Priority>;

const words = z.string().refine((text) => text.trim() !== "", "must not be empty");
const lines = z.array(words);

/** One concrete request, or one command line, that can be replayed without a model. */
export const Exec = z.looseObject({
  mode: z.enum(["http", "cli"]),
  method: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, "must be an HTTP verb").optional(),
  path: z.string().optional().describe("appended to the target's base URL"),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
  expected_status: z.number().int().refine(isStatus, "must be 0 or from 100 to 599").optional()
    .describe("0 or left out: any status but 5xx passes"),
  concurrency: z.number().int().min(0).max(256).optional()
    .describe("above 1: so many identical requests at once, of which at most one may win"),
  anonymous: z.boolean().optional().describe("credentials given as -H are left out"),
  command: z.array(z.string()).optional(),
  expected_exit: z.number().int().min(0).max(255).optional(),
}).superRefine(needsItsMode);
export type Exec = z.infer<typeof Exec>;

/** One adversarial test, told from the user's side. The v0.1 fields are locked. */
export const Scenario = z.looseObject({
  scenario_id: z.string().regex(/^TS-[0-9]{3,}$/, "must look like TS-001"),
  title: words,
  user_perspective: words,
  preconditions: lines,
  steps: lines,
  chaos_factors: lines,
  expected_behavior: words,
  failure_modes: lines,
  priority: Priority,
  confidence_area: words,
  is_edge_case: z.boolean(),
  exec: Exec.optional(),
});
export type Scenario = z.infer<typeof Scenario>;

/** A file of scenarios: the object that `run` prints, or a bare array. */
export const ScenarioDocument = z.union([
  z.array(Scenario),
  z.looseObject({ scenarios: z.array(Scenario) }),
]);

/** What became of one scenario. */
export const ExecutionStatus = z.enum(["passed", "failed", "skipped", "inconclusive"]);
export type ExecutionStatus = z.infer<typeof ExecutionStatus>;

/** One executed scenario, with what was seen. */
export interface Execution {
  scenario_id: string;
  status: ExecutionStatus;
  /** One sentence that a person can act on. */
  reason: string;
  evidence: Record<string, unknown>;
  duration_ms: number;
}

function isStatus(value: number): boolean {
  return value === 0 || (value >= 100 && value <= 599);
}

function needsItsMode(exec: Record<string, unknown>, context: z.RefinementCtx): void {
  const needed = exec.mode === "cli" ? ["command"] : exec.mode === "http" ? ["method", "path"] : [];
  for (const field of needed) {
    if (exec[field] === undefined) {
      context.addIssue({
        code: "custom",
        path: [field],
        message: `is required in mode ${exec.mode}`,
      });
    }
  }
  if (Array.isArray(exec.command) && (exec.command.length === 0 || exec.command[0] === "")) {
    context.addIssue({ code: "custom", path: ["command"], message: "must name a program" });
  }
}
