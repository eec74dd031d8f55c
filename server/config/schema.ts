import { z } from "zod";
import { Effect, Policies, PolicyLimits, Rule } from "../policy/schema.ts";

/** `gate.config.json` of a project; unknown keys are kept. */
export const ProjectConfig = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/).optional(),
  extends: z.literal("global").optional(),
  overrideGlobal: z.boolean().optional(),
  version: z.string().optional(),
  platforms: z.array(z.string()).optional(),
  policies: Policies.optional(),
});
export type ProjectConfig = z.infer<typeof ProjectConfig>;

/** `config.json` in the gate's home; unknown keys are kept. */
export const GlobalConfig = z.looseObject({
  version: z.string().optional(),
  policies: Policies.optional(),
  approvals: z.looseObject({
    proof: z.enum(["token", "passphrase", "passkey"]).optional(),
  }).optional(),
});
export type GlobalConfig = z.infer<typeof GlobalConfig>;

/** One rule in force, with where it comes from. */
export const SourcedRule = Rule.extend({
  reason: z.string().nullable(),
  alternative: z.string().nullable(),
});
export type SourcedRule = z.infer<typeof SourcedRule>;

/** `GET /api/config`: what is in force for a project and where each rule comes from. */
export const ConfigView = z.object({
  project_id: z.string(),
  path: z.string().nullable(),
  config: ProjectConfig,
  global: GlobalConfig,
  effective: z.object({
    defaultEffect: Effect,
    limits: PolicyLimits,
    rules: z.array(SourcedRule),
    override_global: z.enum(["off", "untrusted", "trusted"]),
  }),
  etag: z.string(),
  warnings: z.array(z.string()),
  error: z.string().nullable().describe("why everything is denied until the config is mended"),
});
export type ConfigView = z.infer<typeof ConfigView>;
