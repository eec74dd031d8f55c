import { z } from "zod";

/** A change that the daemon makes for a finding. None of them lets an agent do more. */
export const Repair = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("home"),
  }).describe("take the data folder, the tokens and the keys away from other users"),
  z.strictObject({
    kind: z.literal("host"),
    host: z.string().max(64).describe("the platform of an agent host"),
    enforce: z.boolean().describe("also install the hooks before the host's own tools"),
  }).describe("write gate's entry into an agent host's files"),
  z.strictObject({
    kind: z.literal("instructions"),
  }).describe("update the instructions for agents in all projects"),
]);
export type Repair = z.infer<typeof Repair>;

/** A page of the dashboard on which a person resolves a finding, with a proof where one is needed. */
export const Remedy = z.strictObject({
  kind: z.literal("page"),
  page: z.enum(["audit", "policy", "projects", "remediation", "sessions", "settings"]),
  project: z.string().nullable(),
});
export type Remedy = z.infer<typeof Remedy>;

/** One finding of a check of `gate doctor`. */
export const Finding = z.strictObject({
  check: z.string().describe("which check: home, tokens, config, daemon, …"),
  level: z.enum(["ok", "warning", "problem"]),
  message: z.string(),
  fix: z.string().nullable().describe("the command that fixes it, or null"),
  repair: z.union([Repair, Remedy]).nullable().describe(
    "how the dashboard fixes it; null if only a terminal can",
  ),
});
export type Finding = z.infer<typeof Finding>;

/** The output of `gate doctor --json`. `ok` is true without problems. */
export const DoctorReport = z.strictObject({
  ok: z.boolean(),
  version: z.string(),
  findings: z.array(Finding),
});
export type DoctorReport = z.infer<typeof DoctorReport>;

/** The newest report of the daemon's own run of the checks. */
export const DoctorState = z.strictObject({
  checked_at: z.iso.datetime().nullable().describe("null before the first run"),
  report: DoctorReport.nullable(),
});
export type DoctorState = z.infer<typeof DoctorState>;

/** A file that a repair changed. */
const RepairedFile = z.strictObject({ path: z.string(), backup: z.string().nullable() });

/** The outcome of a repair. */
export const Repaired = z.strictObject({ files: z.array(RepairedFile) });
export type Repaired = z.infer<typeof Repaired>;
