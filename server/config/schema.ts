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

/** One difference between what was accepted and what stands in the file. */
export const ConfigDifference = z.object({
  kind: z.enum(["added", "removed", "changed"]),
  key: z.string(),
  text: z.string(),
});
export type ConfigDifference = z.infer<typeof ConfigDifference>;

/** A config file that was changed by anybody but the gate, until a person accepts it. */
export const OutsideChange = z.object({
  path: z.string(),
  at: z.string().describe("when the gate saw it first"),
  by: z.string().nullable().describe("whose file it is; more is not known"),
  before_sha256: z.string().nullable(),
  after_sha256: z.string(),
  differences: z.array(ConfigDifference).nullable().describe("null where they cannot be told"),
});
export type OutsideChange = z.infer<typeof OutsideChange>;

/** Body of `POST /api/config/accept`: the file as the person has seen it. */
export const AcceptInput = z.strictObject({
  path: z.string().min(1).max(4096),
  sha256: z.string().max(64).describe("`after_sha256` of the change"),
});
export type AcceptInput = z.infer<typeof AcceptInput>;

/** Where a config is broken and what to do about it. */
export const ConfigProblem = z.object({
  path: z.string().nullable(),
  line: z.number().int().nullable(),
  column: z.number().int().nullable(),
  cause: z.string(),
  next: z.string(),
});
export type ConfigProblem = z.infer<typeof ConfigProblem>;

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
  problem: ConfigProblem.nullable().describe("the same, in its parts"),
  outside_changes: z.array(OutsideChange),
});
export type ConfigView = z.infer<typeof ConfigView>;
