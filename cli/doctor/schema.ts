import { z } from "zod";

/** What one check of `gate doctor` found. */
export const Finding = z.strictObject({
  check: z.string().describe("which check: home, tokens, config, daemon, …"),
  level: z.enum(["ok", "warning", "problem"]),
  message: z.string(),
  fix: z.string().nullable().describe("the command that mends it, where there is one"),
});
export type Finding = z.infer<typeof Finding>;

/** What `gate doctor --json` prints; `ok` while nothing is a problem. */
export const DoctorReport = z.strictObject({
  ok: z.boolean(),
  version: z.string(),
  findings: z.array(Finding),
});
export type DoctorReport = z.infer<typeof DoctorReport>;
