import { homedir } from "node:os";
import { join } from "node:path";
import type { Caller } from "../auth/schema.ts";
import type { Environment } from "../environment.ts";
import type { NewEvent } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { brokenPolicy } from "../policy/compile.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { compilePolicy, type Surroundings } from "../policy/evaluate.ts";
import type { Policies, PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import { testPolicy } from "../policy/test_policy.ts";
import { OWN_PID } from "../runtime/processes.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { editPolicies, rejectUnknownKeys } from "./edit_policies.ts";
import { checkPolicies, fingerprint, loadConfig, type Loaded, parseConfig } from "./load.ts";
import { hashOf, Pin } from "./pin.ts";
import { writeWhole } from "../runtime/small_file.ts";
import {
  type AcceptInput,
  type ConfigView,
  GlobalConfig,
  type OutsideChange,
  ProjectConfig,
} from "./schema.ts";
import { taskScript } from "./task_script.ts";
import { isOverrideTrusted, trustFile } from "./trust.ts";
import { type Configs, describeOutside, toProblem, UNTIL_FIXED, warningsOf } from "./view.ts";

/** The surroundings of a project's configuration. */
export interface ConfigServices {
  project_id: string;
  /** Real paths of the project's folders; never empty, the first is the main one. */
  roots: readonly string[];
  environment: Environment;
  /** The daemon's port, for the rules that protect the daemon itself. */
  port: number;
  /** The project's config where no folder holds one: part of gate, so nobody changes it. */
  builtin?: ProjectConfig;
  /** Appends an event to the audit chain. */
  record: (event: NewEvent) => Promise<void>;
}

/** The author of a policy change, and the version that the author read. */
export interface PoliciesChange {
  caller: Caller;
  /** The `ETag` that the caller read; null accepts any version. */
  if_match: string | null;
}

/** The config files as read at one moment. */
interface Snapshot extends Configs {
  /** Changes with every file. */
  key: string;
  compiled: CompiledPolicy;
}

/**
 * The configuration in force for one project. Reads the files again when one has changed. Without
 * a global file, no global rule applies and the limits have their defaults. The default effect is
 * `ask`.
 */
export class Config {
  readonly #services: ConfigServices;
  readonly #global: string;
  readonly #pin: Pin;
  #snapshot: Snapshot | null = null;
  /** Set once the project's file was read, because its later disappearance denies everything. */
  #seen = false;

  constructor(services: ConfigServices) {
    this.#services = services;
    this.#global = join(services.environment.home, "config.json");
    const { home } = services.environment;
    this.#pin = new Pin(join(home, "projects", services.project_id, "config_pin.json"));
  }

  /** Computed each time, because a moved folder changes the roots of an open project. */
  get #project(): string {
    return join(this.#services.roots[0]!, "gate.config.json");
  }

  /** The decision of policy. Records nothing. */
  async test(input: PolicyTestInput): Promise<PolicyTestResult> {
    const { compiled, around } = await this.inForce();
    return testPolicy(compiled, input, around, () => performance.now());
  }

  /** The policy in force and its surroundings. A broken config gives a policy that denies everything. */
  inForce(): Promise<{ compiled: CompiledPolicy; around: Surroundings }> {
    const { roots, environment, port } = this.#services;
    const around = {
      roots,
      user_home: homedir(),
      gate_home: environment.home,
      port,
      daemon_pid: OWN_PID,
      resolve: resolvePath,
      script: (name: string, cwd: string) => taskScript(name, cwd, roots),
    };
    return Promise.resolve({ compiled: this.#read().compiled, around });
  }

  /**
   * The policy after a change to these policies, and its surroundings. Omitted keys keep their value,
   * unless `whole` is set. @throws GateError `invalid`, or `conflict` for a broken config
   */
  async candidate(
    { policies = {}, whole = false }: {
      policies?: Policies | undefined;
      whole?: boolean | undefined;
    },
  ): Promise<{ compiled: CompiledPolicy; around: Surroundings }> {
    const { project, global, override } = this.#read();
    const error = global.error ?? (whole ? null : project.error);
    if (error !== null) {
      const message = `Cannot test the policies: ${error}; a person must repair the file`;
      throw new GateError("conflict", message);
    }
    const wrong = checkPolicies(policies);
    if (wrong !== null) throw new GateError("invalid", `Cannot test the policies: ${wrong}`);
    const compiled = compilePolicy({
      project: whole ? policies : { ...project.value?.policies, ...policies },
      global: global.value?.policies ?? null,
      override_global: override === "trusted",
    });
    return { compiled, around: (await this.inForce()).around };
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
      etag: etagOf(project.text),
      warnings: warningsOf({ project, global, override }, this.#services.project_id),
      error: compiled.error,
      problem: compiled.error === null ? null : toProblem(compiled.error),
      outside_changes: this.#outside(),
    });
  }

  /** Accepts a changed file. @throws GateError `forbidden`; `conflict` when it has changed again */
  async accept({ path, sha256 }: AcceptInput, caller: Caller): Promise<ConfigView> {
    const attempt = `Cannot accept the change of "${path.toWellFormed()}"`;
    if (caller.scope !== "reviewer") {
      throw new GateError(
        "forbidden",
        `${attempt}: a reviewer must accept it; open gate dashboard`,
      );
    }
    this.#read();
    if (!this.#pin.accept(path, sha256)) {
      const cause = "the file has changed since";
      const next = "a person must review the new change, then accept it";
      throw new GateError("conflict", `${attempt}: ${cause}; ${next}`);
    }
    await this.#services.record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "reviewer", id: caller.id },
      data: { source: "accepted", path, after_sha256: sha256 },
    });
    return this.view();
  }

  #outside(): OutsideChange[] {
    const files = this.#services.builtin ? [this.#global] : [this.#project, this.#global];
    return files.flatMap((path) => {
      const outside = this.#pin.outside(path);
      return outside ? [describeOutside(path, outside)] : [];
    });
  }

  /**
   * Changes the policies in the project's file. Keeps omitted keys and comments. The new policies
   * are in force on return. @throws GateError `invalid` for an unusable policy, `digest_mismatch`
   * when the file has changed since the caller read it, `conflict` when the file is broken
   */
  async updatePolicies(policies: Policies, change: PoliciesChange): Promise<ConfigView> {
    const { project, global, override } = this.#read();
    const attempt = `Cannot change the policies of "${this.#services.project_id}"`;
    if (this.#services.builtin) {
      const next = "add rules to the global config: gate global-config";
      throw new GateError("conflict", `${attempt}: no folder holds its config; ${next}`);
    }
    if (change.caller.scope !== "reviewer") {
      throw new GateError(
        "forbidden",
        `${attempt}: a reviewer must change them; open gate dashboard`,
      );
    }
    if (project.error !== null) {
      const message = `${attempt}: ${project.error}; a person must repair the file`;
      throw new GateError("conflict", message);
    }
    const etag = etagOf(project.text);
    if (change.if_match !== null && change.if_match !== "*" && change.if_match !== etag) {
      const next = "read the config and send the change with its new etag";
      throw new GateError("digest_mismatch", `${attempt}: the file has changed; ${next}`, {
        fields: { etag },
      });
    }
    rejectUnknownKeys(policies, project.value?.policies ?? {}, attempt);
    const before = project.text === "" ? newConfig(this.#services.project_id) : project.text;
    const after = editPolicies(before, project.value?.policies ?? {}, policies);
    const parsed = parseConfig(this.#project, after, ProjectConfig);
    if (parsed.error !== null) throw new GateError("invalid", `${attempt}: ${parsed.error}`);
    // Compiled before the write, so that an unusable rule never reaches the file.
    compilePolicy({
      project: parsed.value?.policies ?? null,
      global: global.value?.policies ?? null,
      override_global: override === "trusted",
    });
    await this.#write(after, Object.keys(policies), change.caller);
    return this.view();
  }

  async #write(text: string, keys: string[], caller: Caller): Promise<void> {
    const before_sha256 = hashOf(this.#snapshot?.project.text ?? "");
    const after_sha256 = hashOf(text);
    if (before_sha256 === after_sha256) return;
    writeWhole(resolvePath(this.#project).real, text, 0o644);
    this.#pin.note(this.#project, text, { through_gate: true, at: this.#now() });
    await this.#services.record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "reviewer", id: caller.id },
      data: { source: "gate", path: this.#project, keys, before_sha256, after_sha256 },
    });
  }

  /** Records a change of a file outside the gate. */
  #watch(path: string, loaded: Loaded<unknown>): void {
    const { environment, record } = this.#services;
    const after_sha256 = hashOf(loaded.text);
    try {
      const how = { through_gate: false, at: this.#now() };
      const before_sha256 = this.#pin.note(path, loaded.text, how);
      if (before_sha256 === undefined) return;
      const actor = { kind: "system" as const, id: "file" };
      const data = { source: "file", path, before_sha256, after_sha256 };
      record({ session_id: null, action_id: null, type: "policy.changed", actor, data })
        .catch((error) => environment.log("error", "Cannot record a policy change", { error }));
    } catch (error) {
      environment.log("error", "Cannot pin the config", { path, error: String(error) });
    }
  }

  #now(): string {
    return new Date(this.#services.environment.now()).toISOString();
  }

  #read(): Snapshot {
    const trust = trustFile(this.#services.environment.home);
    const { builtin } = this.#services;
    const files = builtin ? [this.#global, trust] : [this.#project, this.#global, trust];
    const key = files.map(fingerprint).join(" ");
    if (this.#snapshot?.key === key) return this.#snapshot;
    const project = builtin
      ? { value: builtin, text: "", error: null, unknown: [] }
      : loadConfig(this.#project, ProjectConfig);
    const global = loadConfig(this.#global, GlobalConfig);
    if (!builtin) this.#watch(this.#project, project);
    this.#watch(this.#global, global);
    const isOverride = project.value?.overrideGlobal === true;
    const trusted = isOverride && isOverrideTrusted(trust, this.#services.project_id);
    const override = isOverride ? trusted ? "trusted" : "untrusted" : "off";
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

function etagOf(text: string): string {
  return `"${hashOf(text)?.slice(0, 32) ?? "none"}"`;
}

function newConfig(id: string): string {
  return `${JSON.stringify({ id, version: "2", policies: {} }, null, 2)}\n`;
}

function broken(error: string): CompiledPolicy {
  return brokenPolicy(`${UNTIL_FIXED}${error}`);
}
