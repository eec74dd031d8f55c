import { z } from "zod";

/** One finding of a check of `gate doctor`. */
export const Finding = z.strictObject({
  check: z.string().describe("which check: home, tokens, config, daemon, …"),
  level: z.enum(["ok", "warning", "problem"]),
  message: z.string(),
  fix: z.string().nullable().describe("the command that fixes it, or null"),
});
export type Finding = z.infer<typeof Finding>;

/** The output of `gate doctor --json`. `ok` is true without problems. */
export const DoctorReport = z.strictObject({
  ok: z.boolean(),
  version: z.string(),
  findings: z.array(Finding),
});
export type DoctorReport = z.infer<typeof DoctorReport>;
