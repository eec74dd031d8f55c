import { z } from "zod";

/** How soon a person must look at a failure. */
export const Priority = z.enum(["critical", "high", "medium", "low"]);
export type Priority = z.infer<typeof Priority>;

/** Sorts by priority, critical first. */
export function byPriority(a: { priority: Priority }, b: { priority: Priority }): number {
  return Priority.options.indexOf(a.priority) - Priority.options.indexOf(b.priority);
}

const words = z.string().refine((text) => text.trim() !== "", "must not be empty");
const lines = z.array(words);

/** Content that no answer may show, whatever its status. */
export const Forbidden = z.looseObject({
  texts: z.array(words).optional(),
  headers: z.array(words).optional(),
  markup: z.array(words).optional().describe("texts that no HTML page may hold as they were sent"),
  secrets: z.boolean().optional().describe("passwords, their hashes, card codes and PINs"),
  prompts: z.boolean().optional().describe("the instructions of a language model"),
  traces: z.boolean().optional().describe("stack traces and messages of the database"),
});
const Method = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, "must be an HTTP verb");
const Headers = z.record(z.string(), z.string());
const Status = z.number().int()
  .refine((one) => one === 0 || (one >= 100 && one <= 599), "must be 0 or from 100 to 599");

/** A request that prepares the scenario's own request. */
export const SetupRequest = z.looseObject({
  method: Method,
  path: z.string(),
  headers: Headers.optional(),
  body: z.string().optional(),
  expected_status: Status.optional().describe("0 or left out: any 2xx"),
});
export type SetupRequest = z.infer<typeof SetupRequest>;

/** A GET that proves the effect of the request, because an answer alone does not prove it. */
export const Check = z.looseObject({
  path: z.string(),
  headers: Headers.optional(),
  expected_status: Status.optional().describe("0 or left out: any 2xx"),
  pointer: z.string().regex(/^(\/|$)/, 'must be a JSON pointer, like "/balance"').optional()
    .describe("the value in the JSON answer; of a list its length counts"),
  equals: z.json().optional(),
  at_least: z.number().optional(),
  at_most: z.number().optional(),
  changes_by: z.number().optional().describe("from a reading before to one after"),
}).refine(saysSomething, {
  message: "must say what is right: equals, at_least, at_most, changes_by or expected_status",
});
export type Check = z.infer<typeof Check>;

/** One concrete request or command line that runs without a model. */
export const Exec = z.looseObject({
  mode: z.enum(["http", "cli"]),
  method: Method.optional(),
  path: z.string().optional().describe("appended to the target's base URL"),
  headers: Headers.optional(),
  body: z.string().optional(),
  expected_status: Status.optional().describe("0 or left out: any status but 5xx passes"),
  concurrency: z.number().int().min(0).max(256).optional()
    .describe("above 1: so many identical requests at once, of which at most one may win"),
  sequence: z.boolean().optional()
    .describe("of a race: if one more request afterwards succeeds too, it may be repeated"),
  rounds: z.number().int().min(1).max(100).optional()
    .describe("so many volleys, each with another {{uniq}} in its path, headers or body"),
  setup: z.array(SetupRequest).max(10).optional().describe("sent before each request or volley"),
  check: Check.optional(),
  anonymous: z.boolean().optional().describe("credentials given as -H are left out"),
  presumes: z.array(z.enum(["login", "record"])).optional()
    .describe("else 401, 403 (login) or 404 (record) in place of what is expected decides nothing"),
  forbidden: Forbidden.optional(),
  command: z.array(z.string()).optional(),
  expected_exit: z.number().int().min(0).max(255).optional(),
  expected_end: z.enum(["refused", "orderly", "denied"]).optional()
    .describe(
      "where the code is not known: any error code (of HTTP: any 4xx), no crash, or 401 or 403",
    ),
}).superRefine(needsItsMode).superRefine(needsUniq);
export type Exec = z.infer<typeof Exec>;

/** One adversarial test from the user's point of view. The v0.1 fields are locked. */
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

/** The outcome of one scenario. */
export const ExecutionStatus = z.enum(["passed", "failed", "skipped", "inconclusive"]);
export type ExecutionStatus = z.infer<typeof ExecutionStatus>;

/** One executed scenario with its evidence. */
export interface Execution {
  scenario_id: string;
  status: ExecutionStatus;
  /** One sentence that a person can act on. */
  reason: string;
  evidence: Record<string, unknown>;
  duration_ms: number;
}

/** Failures with one cause. */
export interface Finding {
  title: string;
  severity: Priority;
  /** The weakness by its number in the Common Weakness Enumeration; null for other failures. */
  cwe: string | null;
  operation: string | null;
  /** The kind of scenario that shows it; "scenario" for one without a family. */
  family: string;
  expected: string;
  /** The scenario that shows it, and all others that fail for the same cause. */
  scenario_id: string;
  also: string[];
  happened: string;
  /** The first bytes of the answer; null where several requests were sent. */
  answer: string | null;
  /**
   * A command line with a variable for each credential, and with `$PACK` for the folder of `--repro`
   * where the body is long; null for prose.
   */
  repeat: string | null;
}

const RIGHT = ["equals", "at_least", "at_most", "changes_by", "expected_status"];

function saysSomething(check: Record<string, unknown>): boolean {
  return RIGHT.some((name) => check[name] !== undefined);
}

function needsItsMode(exec: Record<string, unknown>, context: z.RefinementCtx): void {
  const needed = exec.mode === "cli" ? ["command"] : exec.mode === "http" ? ["method", "path"] : [];
  for (const field of needed) {
    if (exec[field] === undefined) {
      const message = `is required in mode ${exec.mode}`;
      context.addIssue({ code: "custom", path: [field], message });
    }
  }
  if (Array.isArray(exec.command) && (exec.command.length === 0 || exec.command[0] === "")) {
    context.addIssue({ code: "custom", path: ["command"], message: "must name a program" });
  }
}

/** Without {{uniq}} the first round may use the resource up and hide the race in all others. */
function needsUniq(exec: Record<string, unknown>, context: z.RefinementCtx): void {
  const { path, headers, body, rounds } = exec;
  if (typeof rounds !== "number" || rounds === 1) return;
  if (JSON.stringify([path, headers, body]).includes("{{uniq}}")) return;
  const message = "needs {{uniq}} in the path, the headers or the body";
  context.addIssue({ code: "custom", path: ["rounds"], message });
}
