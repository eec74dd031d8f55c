import type { Environment } from "../context.ts";
import { GateError } from "../errors.ts";
import type { CompiledPolicy, Surroundings } from "../policy/evaluate.ts";
import type { PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import type { ConfigView } from "./schema.ts";

/** Where a project's configuration is found; made in `Project` and nowhere else. */
export interface ConfigServices {
  project_id: string;
  /** Real paths of the project's folders; never empty, the first is the main one. */
  roots: readonly string[];
  environment: Environment;
  /** The daemon's port, for the rules that protect the daemon itself. */
  port: number;
}

/** The configuration in force for one project; read again whenever a file has changed. */
export class Config {
  constructor(_services: ConfigServices) {}

  /** What policy would say, without recording anything. */
  test(_input: PolicyTestInput): Promise<PolicyTestResult> {
    throw new GateError("internal", "not built yet");
  }
  /** The policy in force now, with what it is asked about; a broken config gives one that denies all. */
  inForce(): Promise<{ compiled: CompiledPolicy; around: Surroundings }> {
    throw new GateError("internal", "not built yet");
  }
  view(): Promise<ConfigView> {
    throw new GateError("internal", "not built yet");
  }
}
