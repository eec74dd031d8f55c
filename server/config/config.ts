import { homedir } from "node:os";
import { GateError } from "../errors.ts";
import { compilePolicy, type PolicyLayer, type Surroundings } from "../policy/evaluate.ts";
import { builtin } from "../policy/finding.ts";
import { combineLayers } from "../policy/layers.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { plainSandbox } from "../policy/sandbox.ts";
import type { Policies, PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import { settled } from "../policy/settled.ts";
import { reasonOf } from "../policy/templates.ts";
import { testPolicy } from "../policy/test_policy.ts";
import { OWN_PID } from "../runtime/processes.ts";
import { ignoredNames, takesNamesBack } from "../runtime/ignored_names.ts";
import { openRepositories } from "../runtime/tracked_files.ts";
import { gitFolderAbove } from "../runtime/git_folder.ts";
import { isNamedByRepository } from "../runtime/git_named.ts";
import { listFolder, resolvePath } from "../runtime/real_path.ts";
import { ConfigChanges } from "./config_changes.ts";
import { etagOf, MACHINE, valueOf } from "./config_text.ts";
import { checkPolicies } from "./load.ts";
import { goneProblems, listOutside } from "./outside.ts";
import { type ConfigServices, ProjectFiles } from "./project_files.ts";
import type { ConfigView, ProjectConfig } from "./schema.ts";
import { compile } from "./snapshot.ts";
import { projectText } from "./project_text.ts";
import { taskScript } from "./task_script.ts";
import { describeFault, unpinnedWarning, warningsOf } from "./view.ts";

/** The configs of all projects, as far as the policy of one project depends on others. */
export interface ProjectConfigs extends ConfigServices {
  /** The config of a registered project; null for any other id. */
  find: (project_id: string) => Promise<Config | null>;
  /** The projects that hold one of these folders, outermost first. */
  listParents: (project_id: string, roots: readonly string[]) => Promise<Config[]>;
}

/**
 * The configuration in force for one project: the accepted version and the file, the stricter of the
 * two for each action. The default effect is `ask`.
 */
export class Config {
  readonly files: ProjectFiles;
  readonly changes: ConfigChanges;
  readonly #configs: ProjectConfigs;
  #parents: { roots: string; listed: unknown; parents: Config[] } | null = null;
  #combined: { key: string; compiled: CompiledPolicy } | null = null;

  /** `builtin`: the config where no folder holds one. It is part of gate, so nobody changes it. */
  constructor(
    configs: ProjectConfigs,
    id: string,
    roots: readonly string[],
    builtin: ProjectConfig | null = null,
  ) {
    this.#configs = configs;
    this.files = new ProjectFiles(configs, { id, roots, builtin });
    this.changes = new ConfigChanges(this.files);
  }

  /** The decision of policy. Records nothing. */
  async test(input: PolicyTestInput, home_project?: string): Promise<PolicyTestResult> {
    const { compiled, around } = await this.inForce(home_project);
    return await settled(
      around,
      () => testPolicy(compiled, input, around, () => performance.now()),
    );
  }

  /**
   * The policy in force and its surroundings. A broken config gives a policy that denies everything.
   * `home_project` is the project of the folder that the agent's host opened. If it is another one,
   * both policies apply and a person decides.
   */
  async inForce(
    home_project?: string,
  ): Promise<{ compiled: CompiledPolicy; around: Surroundings }> {
    const { environment, port } = this.files.configs.services;
    const roots = this.files.roots;
    const engine = await environment.sandbox?.() ?? null;
    const around = {
      roots,
      user_home: homedir(),
      gate_home: environment.home,
      port,
      daemon_pid: OWN_PID,
      resolve: resolvePath,
      git_folder: (path: string) =>
        gitFolderAbove(path) ?? roots.find((root) => isNamedByRepository(path, root)) ?? null,
      list: listFolder,
      read: (path: string) => projectText(path, roots),
      ignored: ignoredNames,
      takes_back: takesNamesBack,
      sandbox: engine && { engine: engine.name },
      ...openRepositories(),
      script: (name: string, cwd: string) => taskScript(name, cwd, roots),
    };
    const isForeign = home_project !== undefined && home_project !== this.files.id;
    const snapshot = await this.files.read();
    const parents = await this.#listParents();
    if (!isForeign && parents.length === 0) return { compiled: snapshot.compiled, around };
    const foreign = isForeign ? await this.#foreignLayers(home_project) : { key: "", layers: [] };
    const above = await Promise.all(parents.map((parent) => parent.#layersFor(this.files.roots)));
    const key = [snapshot.key, ...above.map((one) => one.key), foreign.key].join("\n");
    if (this.#combined?.key !== key) {
      const own = snapshot.layers.map((compiled) => ({ compiled }));
      const layers = [...own, ...above.flatMap((one) => one.layers), ...foreign.layers];
      this.#combined = { key, compiled: combineLayers(layers) };
    }
    return { compiled: this.#combined.compiled, around };
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
    const { project, global, override } = await this.files.read();
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
    const parents = await this.#listParents();
    const above = await Promise.all(parents.map((parent) => parent.#layersFor(this.files.roots)));
    const layers = [{ compiled }, ...above.flatMap((one) => one.layers)];
    const { around } = await this.inForce();
    return { compiled: layers.length > 1 ? combineLayers(layers) : compiled, around };
  }

  /** The config in force, with where each rule comes from. */
  async view(): Promise<ConfigView> {
    const snapshot = await this.files.read();
    const { project, global, override, gone } = snapshot;
    const { compiled } = await this.inForce();
    const outside_changes = await listOutside(this.files, snapshot);
    const parents = (await this.#listParents()).map((parent) => parent.files.id);
    const problem = compiled.fault && describeFault(compiled.fault);
    return {
      project_id: this.files.id,
      path: project.text === "" || gone.project ? null : this.files.path,
      config: project.value ?? {},
      global: global.value ?? {},
      effective: {
        defaultEffect: compiled.error === null ? compiled.defaultEffect : "deny" as const,
        limits: compiled.limits,
        sandbox: plainSandbox(compiled.sandbox),
        rules: compiled.rules.map((rule) => ({ ...rule, reason: rule.reason ?? reasonOf(rule) })),
        override_global: override,
      },
      etag: etagOf(gone.project ? "" : project.text),
      warnings: [
        ...warningsOf(snapshot, this.files.id, parents),
        ...goneProblems(this.files, snapshot).map(({ message }) => message),
        ...outside_changes.filter(({ waiting, after_sha256 }) => waiting && after_sha256 !== "")
          .filter(({ path }) => path !== problem?.path)
          .map(({ path }) =>
            `a part of "${path}" waits: a person must accept the change with gate config accept`
          ),
        ...outside_changes.filter(({ waiting, differences }) => !waiting && differences?.length)
          .map(({ path }) => unpinnedWarning(path)),
      ],
      error: compiled.error,
      problem,
      outside_changes,
    };
  }

  /** The projects around this one. Listed again when a project or a folder is added. */
  async #listParents(): Promise<Config[]> {
    const listed = this.files.configs.services.listRoots();
    const roots = this.files.roots.join("\n");
    if (this.#parents?.listed !== listed || this.#parents.roots !== roots) {
      const parents = await this.#configs.listParents(this.files.id, this.files.roots);
      this.#parents = { roots, listed, parents };
    }
    return this.#parents.parents;
  }

  /** The layers of this project for a request in these folders, which may lie outside. */
  async #layersFor(roots: readonly string[]): Promise<{ key: string; layers: PolicyLayer[] }> {
    const { key, layers } = await this.files.read();
    const all = [...new Set([...this.files.roots, ...roots])];
    const inside = (root: string) => this.files.roots.some((one) => root.startsWith(`${one}/`));
    const own = all.filter((root) => this.files.roots.includes(root) || !inside(root));
    return {
      key: `${key} ${own.join(" ")}`,
      layers: layers.map((compiled) => ({ compiled, roots: own })),
    };
  }

  /** A home that is no longer registered leaves the machine's own rules. */
  async #foreignLayers(
    home_project: string,
  ): Promise<{ key: string; layers: PolicyLayer[] }> {
    const home = await this.#configs.find(home_project);
    const { key, layers } = home
      ? await home.#allLayersFor(this.files.roots)
      : await this.#machineLayers();
    const reason = `The agent works in "${home_project}", so a person decides on what it does in ` +
      `"${this.files.id}"`;
    // The machine's own rules are no laxer place to go: both policies are enough.
    const finding = this.files.builtin === null
      ? builtin("ask", "other-project", this.files.id, reason)
      : undefined;
    return { key: `${home_project} ${key}`, layers: layers.map((one) => ({ ...one, finding })) };
  }

  async #allLayersFor(roots: readonly string[]): Promise<{ key: string; layers: PolicyLayer[] }> {
    const parents = await this.#listParents();
    const all = await Promise.all([this, ...parents].map((one) => one.#layersFor(roots)));
    return {
      key: all.map((one) => one.key).join("\n"),
      layers: all.flatMap((one) => one.layers),
    };
  }

  /** The policy of a folder of no project. */
  async #machineLayers(): Promise<{ key: string; layers: PolicyLayer[] }> {
    const { accepted, files, key } = await this.files.read();
    const globals = [valueOf(MACHINE, accepted.global?.text ?? ""), files.global.value];
    const layers = globals.map((global) => ({ compiled: compile(null, global, false) }));
    return { key, layers };
  }
}
