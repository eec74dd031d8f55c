import { z } from "zod";
import { Effect, Policies, PolicyLimits, Rule, SandboxPolicy } from "../policy/schema.ts";
import { faultOfUrl, Notifications } from "./notifications/schema.ts";

/** A newer version may mean something else by the same keys, so this gate does not guess. */
function versionUpTo(newest: number) {
  return z.string().refine((text) => !(Number.parseInt(text) > newest), {
    error: `this gate knows versions up to "${newest}"; upgrade gate`,
  });
}

/** `gate.config.json` of a project. Keeps unknown keys. */
export const ProjectConfig = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/).optional(),
  extends: z.literal("global").optional(),
  overrideGlobal: z.boolean().optional(),
  version: versionUpTo(2).optional(),
  platforms: z.array(z.string()).optional(),
  policies: Policies.optional(),
});
export type ProjectConfig = z.infer<typeof ProjectConfig>;

const serverUrl = z.string().max(2048).superRefine((text, context) => {
  const url = text.replaceAll("{project}", "project");
  const query = URL.canParse(url) && new URL(url).search !== "" ? "it must not have a query" : null;
  const why = URL.canParse(url)
    ? faultOfUrl(url) ?? query ?? faultOfHost(text)
    : "expected an address such as https://{project}.ledgers.example.com";
  if (why !== null) context.addIssue({ code: "custom", message: why });
});

/** A project names itself, so its id must not choose the domain that gets the token. */
function faultOfHost(text: string): string | null {
  const mark = "gate-project-id";
  const { hostname } = new URL(text.replaceAll("{project}", mark));
  if (!hostname.includes(mark)) return null;
  const [, ...fixed] = hostname.slice(hostname.lastIndexOf(mark)).split(".").filter(Boolean);
  if (fixed.length >= 2) return null;
  return "a domain such as .ledgers.example.com must follow {project}: a project chooses its id";
}

/** The libSQL server on which ledgers of projects can be. */
export const Storage = z.strictObject({
  url: serverUrl.describe("`{project}` stands for the id of the project, in lower case"),
  authTokenEnv: z.string().regex(
    /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
    "expected the name of an environment variable, not the token itself",
  ).optional(),
});
export type Storage = z.infer<typeof Storage>;

/** `config.json` in the gate's home. Keeps unknown keys. */
export const GlobalConfig = z.looseObject({
  version: versionUpTo(1).optional(),
  policies: Policies.optional(),
  approvals: z.looseObject({
    proof: z.enum(["token", "passphrase", "passkey"]).optional(),
    unlock_seconds: z.number().int().min(1).optional(),
    type_to_confirm: z.enum(["high", "critical"]).optional()
      .describe("from this risk on, a person types the name of the file or program to approve"),
  }).optional(),
  agentMonitor: z.looseObject({
    readEnvironment: z.boolean().optional(),
    showTexts: z.boolean().optional(),
  }).optional(),
  notifications: Notifications.optional(),
  retention: z.looseObject({
    days: z.number().int().min(1).max(36_500).optional()
      .describe("gate gc drops the contents of actions that were settled earlier"),
  }).optional(),
  storage: Storage.optional(),
});
export type GlobalConfig = z.infer<typeof GlobalConfig>;

/** A problem that a person must solve, in the status of the daemon. */
export const DaemonProblem = z.object({
  message: z.string(),
  fix: z.string().nullable().describe("the next step, for a person"),
  is_config: z.boolean().describe("a config cannot be used, so everything is denied"),
});
export type DaemonProblem = z.infer<typeof DaemonProblem>;

/** One rule in force, with its source. */
export const SourcedRule = Rule.extend({
  reason: z.string().nullable()
    .describe("of the rule, else of the template's rules that it belongs to"),
  alternative: z.string().nullable(),
});
export type SourcedRule = z.infer<typeof SourcedRule>;

/** One difference between the accepted version and the file. */
export const ConfigDifference = z.object({
  kind: z.enum(["added", "removed", "changed"]),
  key: z.string(),
  text: z.string(),
  in_force: z.boolean().describe("false while the difference waits, because it may allow more"),
});
export type ConfigDifference = z.infer<typeof ConfigDifference>;

/**
 * A change of a config file outside the gate, until a person accepts it. What denies or asks more
 * holds at once; the rest waits.
 */
export const OutsideChange = z.object({
  path: z.string(),
  at: z.string().describe("when the gate noticed it"),
  by: z.string().nullable().describe("the owner of the file; its author is unknown"),
  before_sha256: z.string().nullable(),
  after_sha256: z.string(),
  differences: z.array(ConfigDifference).nullable().describe(
    "null when the gate cannot compare the versions",
  ),
  waiting: z.boolean().describe("whether a part of it waits until a person accepts it"),
  number: z.number().int().describe("the number that its acceptance gets"),
});
export type OutsideChange = z.infer<typeof OutsideChange>;

/** Body of `POST /api/config/accept`: the version that the person has seen. */
export const AcceptInput = z.strictObject({
  path: z.string().min(1).max(4096),
  sha256: z.string().max(64).describe("`after_sha256` of the change"),
  number: z.number().int().min(1).optional().describe(
    "`number` of the change; a client that checks what the person signs sends it",
  ),
});
export type AcceptInput = z.infer<typeof AcceptInput>;

/** The place of an error in a config, its cause and the next step. */
export const ConfigProblem = z.object({
  path: z.string().nullable(),
  line: z.number().int().nullable(),
  column: z.number().int().nullable(),
  cause: z.string(),
  next: z.string(),
});
export type ConfigProblem = z.infer<typeof ConfigProblem>;

/** `GET /api/config`: the config in force for a project, with the source of each rule. */
export const ConfigView = z.object({
  project_id: z.string(),
  path: z.string().nullable(),
  config: ProjectConfig,
  global: GlobalConfig,
  effective: z.object({
    defaultEffect: Effect,
    limits: PolicyLimits,
    sandbox: SandboxPolicy,
    rules: z.array(SourcedRule),
    override_global: z.enum(["off", "untrusted", "trusted"]),
  }),
  etag: z.string(),
  warnings: z.array(z.string()),
  error: z.string().nullable().describe("why everything is denied until the config is fixed"),
  problem: ConfigProblem.nullable().describe("the error in its parts"),
  outside_changes: z.array(OutsideChange),
});
export type ConfigView = z.infer<typeof ConfigView>;
