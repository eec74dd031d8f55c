import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../context.ts";
import { brokenPolicy, type CompiledPolicy } from "../policy/compile.ts";
import { compilePolicy, type Surroundings } from "../policy/evaluate.ts";
import type { PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import { testPolicy } from "../policy/test_policy.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { fingerprint, loadConfig, type Loaded } from "./load.ts";
import { type ConfigView, GlobalConfig, ProjectConfig } from "./schema.ts";
import { taskScript } from "./task_script.ts";
import { isOverrideTrusted, trustFile } from "./trust.ts";

/** Where a project's configuration is found; made in `Project` and nowhere else. */
export interface ConfigServices {
  project_id: string;
  /** Real paths of the project's folders; never empty, the first is the main one. */
  roots: readonly string[];
  environment: Environment;
  /** The daemon's port, for the rules that protect the daemon itself. */
  port: number;
}

/** Everything that was read at one moment. */
interface Snapshot {
  key: string;
  project: Loaded<ProjectConfig>;
  global: Loaded<GlobalConfig>;
  override: "off" | "untrusted" | "trusted";
  compiled: CompiledPolicy;
}

/**
 * The configuration in force for one project; read again whenever a file has changed. Without a
 * global file nothing is blocked globally and the limits are the defaults; without any
 * `defaultEffect` it is `ask`.
 */
export class Config {
  readonly #services: ConfigServices;
  readonly #global: string;
  #snapshot: Snapshot | null = null;
  /** A project's policy that has been seen once may not vanish silently. */
  #seen = false;

  constructor(services: ConfigServices) {
    this.#services = services;
    this.#global = join(services.environment.home, "config.json");
  }

  /** Asked each time: a folder that was moved is registered again while the project is open. */
  get #project(): string {
    return join(this.#services.roots[0]!, "gate.config.json");
  }

  /** What policy would say, without recording anything. */
  async test(input: PolicyTestInput): Promise<PolicyTestResult> {
    const { compiled, around } = await this.inForce();
    return testPolicy(compiled, input, around, () => performance.now());
  }

  /** The policy in force now, with what it is asked about; a broken config gives one that denies all. */
  inForce(): Promise<{ compiled: CompiledPolicy; around: Surroundings }> {
    const { roots, environment, port } = this.#services;
    const around = {
      roots,
      user_home: homedir(),
      gate_home: environment.home,
      port,
      resolve: resolvePath,
      script: (name: string, cwd: string) => taskScript(name, cwd, roots),
    };
    return Promise.resolve({ compiled: this.#read().compiled, around });
  }

  /** The config in force, with where each rule comes from. */
  view(): Promise<ConfigView> {
    const { project, global, override, compiled } = this.#read();
    return Promise.resolve({
      project_id: this.#services.project_id,
      path: project.text === "" ? null : this.#project,
      config: project.value ?? {},
      global: global.value ?? {},
      effective: {
        defaultEffect: compiled.error === null ? compiled.defaultEffect : "deny" as const,
        limits: compiled.limits,
        rules: [...compiled.rules],
        override_global: override,
      },
      etag: `"${createHash("sha256").update(project.text).digest("hex").slice(0, 32)}"`,
      warnings: warningsOf(project.value, override, this.#services.project_id),
      error: compiled.error,
    });
  }

  #read(): Snapshot {
    const trust = trustFile(this.#services.environment.home);
    const key = [this.#project, this.#global, trust].map(fingerprint).join(" ");
    if (this.#snapshot?.key === key) return this.#snapshot;
    const project = loadConfig(this.#project, ProjectConfig);
    const global = loadConfig(this.#global, GlobalConfig);
    const wanted = project.value?.overrideGlobal === true;
    const trusted = wanted && isOverrideTrusted(trust, this.#services.project_id);
    const override = wanted ? trusted ? "trusted" : "untrusted" : "off";
    if (project.text !== "") this.#seen = true;
    const gone = this.#seen && project.text === "" && project.error === null;
    const error = gone
      ? `${this.#project} has disappeared; put it back`
      : project.error ?? global.error;
    const compiled = error === null ? compile(project.value, global.value, trusted) : broken(error);
    this.#snapshot = { key, project, global, override, compiled };
    return this.#snapshot;
  }
}

function compile(
  project: ProjectConfig | null,
  global: GlobalConfig | null,
  override_global: boolean,
): CompiledPolicy {
  try {
    return compilePolicy({
      project: project?.policies ?? null,
      global: global?.policies ?? null,
      override_global,
    });
  } catch (error) {
    return broken(error instanceof Error ? error.message : String(error));
  }
}

function broken(error: string): CompiledPolicy {
  return brokenPolicy(`Everything is denied until the config is mended: ${error}`);
}

function warningsOf(
  project: ProjectConfig | null,
  override: Snapshot["override"],
  id: string,
): string[] {
  const warnings: string[] = [];
  if (project && project.id === undefined) {
    warnings.push(
      `gate.config.json has no "id": this still works but is deprecated; add "id": "${id}"`,
    );
  }
  if (override === "untrusted") {
    warnings.push(
      `"overrideGlobal" is ignored until a person trusts it here: gate project trust-override ${id}`,
    );
  }
  return warnings;
}
