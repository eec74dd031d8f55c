import { z } from "zod";

/** How much harm an action may do. */
export const RiskLevel = z.enum(["low", "medium", "high", "critical"]);
export type RiskLevel = z.infer<typeof RiskLevel>;

/** The risk of an action, 0–100, as a sum of explained factors. */
export const Risk = z.object({
  score: z.number().int().min(0).max(100),
  level: RiskLevel,
  factors: z.array(z.object({ name: z.string(), weight: z.number().int(), why: z.string() })),
});
export type Risk = z.infer<typeof Risk>;
