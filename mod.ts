/**
 * The gate as a library: start a gate inside your own program, call a running one, check its records,
 * or evaluate the policy without a daemon.
 *
 * @example
 * ```ts
 * import { compilePolicy, evaluate } from "./mod.ts";
 *
 * const project = { defaultEffect: "allow" as const, blockedCommands: ["git push --force"] };
 * const policy = compilePolicy({ global: null, project, override_global: false });
 * const request = { kind: "command" as const, command: "git push -f origin", cwd: "/app" };
 * const { decision } = evaluate(policy, request, {
 *   roots: ["/app"],
 *   user_home: "/home/me",
 *   gate_home: "/home/me/.gate",
 *   port: 47000,
 *   resolve: (path) => ({ lexical: path, real: path }),
 * });
 * console.log(decision.effect); // deny
 * ```
 *
 * @module
 */
export { startGate } from "./server/start.ts";
export type { Gate, StartOptions } from "./server/start.ts";
export type { Environment } from "./server/environment.ts";
export { createClient, ProblemError, unwrap } from "./server/client.ts";
export type { Client, ClientOptions } from "./server/client.ts";
export { DEFAULT_PORT, VERSION } from "./server/constants.ts";
export { ERROR_STATUS, GateError, Problem } from "./server/errors.ts";
export type { ErrorCode } from "./server/errors.ts";
export { parse } from "./server/parse.ts";
export { compilePolicy, evaluate } from "./server/policy/evaluate.ts";
export type {
  CompiledPolicy,
  Evaluation,
  PathFacts,
  PolicyLayers,
  Request,
  Surroundings,
} from "./server/policy/evaluate.ts";
export * from "./server/actions/schema.ts";
export * from "./server/audit/schema.ts";
export {
  Actor,
  AuditEvent,
  AuditType,
  AuditVerification,
  Checkpoint,
} from "./server/evidence/schema.ts";
export * from "./server/config/schema.ts";
export * from "./server/events/schema.ts";
export * from "./server/global/schema.ts";
export * from "./server/policy/schema.ts";
export * from "./server/projects/schema.ts";
export * from "./server/sessions/schema.ts";
