import { homedir } from "node:os";
import { join } from "node:path";
import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
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
import type { ProofVerb } from "../proof/schema.ts";
import { OWN_PID } from "../runtime/processes.ts";
import { ignoredNames, takesNamesBack } from "../runtime/ignored_names.ts";
import { openRepositories } from "../runtime/tracked_files.ts";
import { gitFolderAbove } from "../runtime/git_folder.ts";
import { isNamedByRepository } from "../runtime/git_named.ts";
import { listFolder, resolvePath } from "../runtime/real_path.ts";
import { writeWhole } from "../runtime/small_file.ts";
import type { AcceptedConfigs, Accepting, Fault } from "./accepted.ts";
import { compareConfigs } from "./compare.ts";
import { hashOf, MACHINE, PROJECT_FILE, valueOf } from "./config_text.ts";
import { oncePerMessage, problemOf } from "./daemon_problem.ts";
import { acceptDigest, trustDigest } from "./digests.ts";
import { editPolicies, rejectUnknownKeys } from "./edit_policies.ts";
import { type Acceptance, newestOf } from "./history.ts";
import { checkPolicies, fingerprint, loadConfig, type Loaded, parseConfig } from "./load.ts";
import {
  type AcceptInput,
  type ConfigView,
  type DaemonProblem,
  GlobalConfig,
  type OutsideChange,
  ProjectConfig,
} from "./schema.ts";
import type { ProofCheck } from "./proof_check.ts";
import { isKey } from "./seal.ts";
import { compile, compose, parseAccepted, type Snapshot } from "./snapshot.ts";
import type { Accepted } from "./store.ts";
import { projectText } from "./project_text.ts";
import { taskScript } from "./task_script.ts";
import {
  describeFault,
  describeOutside,
  forgedError,
  goneError,
  lostError,
  unpinnedWarning,
  warningsOf,
} from "./view.ts";

const NOTHING = { sha256: "", text: "" };

/** The ledger of a project, as far as its config needs it. */
export interface ConfigLedger {
  /** Appends an event to the audit chain. */
  record: (event: NewEvent) => Promise<void>;
  /** The hash of the newest event; null before the first. */
  head: () => string | null;
  /** The data of its `policy.changed` events, oldest first. */
  listPolicyChanges: () => Promise<Record<string, unknown>[]>;
  /** Called before gate writes the project's file for a person. */
  writes?: (path: string) => void;
}

/** The configs of this machine, as far as the config of one project needs them. */
export interface ConfigServices {
  services: {
    environment: Environment;
    proofs: ProofCheck;
    /** The daemon's port, for the rules that protect the daemon itself. */
    port: number;
    /** The folders of the registered projects. The same promise means the same folders. */
    listRoots: () => Promise<readonly { id: string; roots: readonly string[] }[]>;
  };
  accepted: AcceptedConfigs;
  /** The path of the machine's config. */
  machine_path: string;
  /** The machine's config file, read again when it has changed. */
  readMachine: () => { key: string; loaded: Loaded<GlobalConfig> };
  /** A text that changes with everything accepted and with the machine's config file. */
  stateKey: () => string;
  /** The config of a registered project; null for any other id. */
  find: (project_id: string) => Promise<Config | null>;
  /** Records the newest acceptance of the machine's config in every open ledger that lacks it. */
  rememberMachine: () => Promise<void>;
  /** The projects that hold one of these folders, outermost first. */
  listParents: (project_id: string, roots: readonly string[]) => Promise<Config[]>;
}

/** The author of a policy change, and the version that the author read. */
export interface PoliciesChange {
  caller: Caller;
  /** The `ETag` that the caller read; null accepts any version. */
  if_match: string | null;
}

/**
 * The configuration in force for one project: the accepted version and the file, the stricter of the
 * two for each action. Reads the files again when one has changed. The default effect is `ask`.
 */
export class Config {
  readonly #configs: ConfigServices;
  readonly #id: string;
  readonly #builtin: ProjectConfig | null;
  #roots: readonly string[];
  #ledger: ConfigLedger | null = null;
  #snapshot: Snapshot | null = null;
  #reading: Promise<void> | null = null;
  #parents: { roots: string; listed: unknown; parents: Config[] } | null = null;
  #combined: { key: string; compiled: CompiledPolicy } | null = null;

  /** `builtin`: the config where no folder holds one. It is part of gate, so nobody changes it. */
  constructor(
    configs: ConfigServices,
    project_id: string,
    roots: readonly string[],
    builtin: ProjectConfig | null = null,
  ) {
    this.#configs = configs;
    this.#id = project_id;
    this.#roots = roots;
    this.#builtin = builtin;
  }

  /** Connects the config with the project's open ledger and its folders. */
  attach(ledger: ConfigLedger, roots: readonly string[]): void {
    this.#ledger = ledger;
    this.#roots = roots;
    this.#snapshot = null;
  }

  /** Replaces the folders of a project whose ledger is closed; an open one shares its own. */
  setRoots(roots: readonly string[]): void {
    if (this.#ledger === null) this.#roots = roots;
  }

  /** Disconnects the ledger, before it closes. */
  detach(): void {
    this.#ledger = null;
  }

  /** Computed each time, because a moved folder changes the roots of an open project. */
  get #path(): string {
    return join(this.#roots[0]!, PROJECT_FILE);
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
    const { environment, port } = this.#configs.services;
    const roots = this.#roots;
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
    const isForeign = home_project !== undefined && home_project !== this.#id;
    const snapshot = await this.#read();
    const parents = await this.#listParents();
    if (!isForeign && parents.length === 0) return { compiled: snapshot.compiled, around };
    const foreign = isForeign ? await this.#foreignLayers(home_project) : { key: "", layers: [] };
    const above = await Promise.all(parents.map((parent) => parent.#layersFor(this.#roots)));
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
    const { project, global, override } = await this.#read();
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
    const above = await Promise.all(parents.map((parent) => parent.#layersFor(this.#roots)));
    const layers = [{ compiled }, ...above.flatMap((one) => one.layers)];
    const { around } = await this.inForce();
    return { compiled: layers.length > 1 ? combineLayers(layers) : compiled, around };
  }

  /** The config in force, with where each rule comes from. */
  async view(): Promise<ConfigView> {
    const snapshot = await this.#read();
    const { project, global, override, gone } = snapshot;
    const { compiled } = await this.inForce();
    const outside_changes = await this.#outside(snapshot);
    const parents = (await this.#listParents()).map((parent) => parent.#id);
    const problem = compiled.fault && describeFault(compiled.fault);
    return {
      project_id: this.#id,
      path: project.text === "" || gone.project ? null : this.#path,
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
        ...warningsOf(snapshot, this.#id, parents),
        ...this.#goneProblems(snapshot).map(({ message }) => message),
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

  /** The problems of the config that a person must solve. */
  async problems(): Promise<DaemonProblem[]> {
    const snapshot = await this.#read();
    const isNew = snapshot.accepted.project === null && this.#builtin === null;
    const waiting = isNew ? (await this.#outside(snapshot)).filter((one) => one.waiting) : [];
    const own = waiting.filter(({ path }) => path === this.#path);
    // Nobody can accept a broken file, so its error is the problem.
    const broken = snapshot.compiled.error;
    const changed = await this.#faultsInDatabase();
    const told = changed.map(({ path, fault }) => this.#toAccept(path, forgedError(path, fault)));
    return [
      ...oncePerMessage([...this.#goneProblems(snapshot), ...told]),
      ...broken === null
        ? own.map(({ path }) =>
          this.#toAccept(path, `nobody has accepted what "${path}" allows, so it waits`)
        )
        : [{ message: broken, fix: null, is_config: true }],
    ];
  }

  /** How the accepted rules in gate.db contradict the audit logs; null if they agree. */
  async compareAccepted(): Promise<string | null> {
    const found = await this.#faultsInDatabase();
    // A text without a proof contradicts no log; the status tells it.
    const other = found.find(({ fault }) => fault === "older" || fault === "unrecorded");
    return other ? forgedError(other.path, other.fault) : null;
  }

  /** Another program can change gate.db while the daemon runs: what it wrote counts after a start. */
  async #faultsInDatabase(): Promise<{ path: string; fault: Fault }[]> {
    const { accepted, machine_path } = this.#configs;
    const sides = [
      ...this.#builtin === null ? [{ owner: this.#id, path: this.#path }] : [],
      { owner: MACHINE, path: machine_path },
    ];
    const found = sides.map(async ({ owner, path }) => {
      const fault = await accepted.compare(owner);
      return fault === null ? [] : [{ path, fault }];
    });
    return (await Promise.all(found)).flat();
  }

  /** Accepts a changed file. @throws GateError `forbidden`; `conflict` when it has changed again */
  async accept({ path, sha256, number }: AcceptInput, caller: Caller): Promise<ConfigView> {
    const attempt = `Cannot accept the change of "${path.toWellFormed()}"`;
    if (caller.scope !== "reviewer") {
      throw new GateError(
        "forbidden",
        `${attempt}: a reviewer must accept it; open gate dashboard`,
      );
    }
    const snapshot = await this.#read();
    const change = (await this.#outside(snapshot)).find((one) => one.path === path);
    const isSame = change?.after_sha256 === sha256 && change.number === (number ?? change.number);
    if (change === undefined || !isSame) {
      const cause = "the file has changed since";
      const next = "a person must review the new change, then accept it";
      throw new GateError("conflict", `${attempt}: ${cause}; ${next}`);
    }
    const isMachine = path === this.#configs.machine_path;
    const { text, ...file } = isMachine ? snapshot.files.global : snapshot.files.project;
    const error = file.error ?? (isMachine ? snapshot.compiled.error : this.#unusable(text));
    if (error !== null) {
      throw new GateError("conflict", `${attempt}: ${error}; a person must repair the file`);
    }
    const owner = isMachine ? MACHINE : this.#id;
    const digest = acceptDigest(path, sha256, change.number);
    const proof = await this.#prove(caller, "accept_config", owner, digest);
    await this.#configs.accepted.accept(owner, {
      path,
      text,
      by: caller.id,
      proof,
      number: change.number,
      record: (accepted) =>
        this.#record({
          session_id: null,
          action_id: null,
          type: "policy.changed",
          actor: { kind: "reviewer", id: caller.id },
          data: { source: "accepted", path, after_sha256: sha256, accepted, ...proof && { proof } },
        }),
    });
    if (isMachine) await this.#configs.rememberMachine();
    return await this.view();
  }

  /**
   * Changes the policies in the project's file. Keeps omitted keys and comments. The new policies
   * are in force on return. @throws GateError `invalid` for an unusable policy, `digest_mismatch`
   * when the file has changed since the caller read it, `conflict` when the file is broken,
   * `proof_required` for a change that may let more happen
   */
  async updatePolicies(policies: Policies, change: PoliciesChange): Promise<ConfigView> {
    const { project, global, override, gone, accepted } = await this.#read();
    const attempt = `Cannot change the policies of "${this.#id}"`;
    const { caller } = change;
    if (caller.scope !== "reviewer") {
      throw new GateError(
        "forbidden",
        `${attempt}: a reviewer must change them; open gate dashboard`,
      );
    }
    if (this.#builtin !== null) {
      const next = "add rules to the global config: gate global-config";
      throw new GateError("conflict", `${attempt}: no folder holds its config; ${next}`);
    }
    if (project.error !== null) {
      const message = `${attempt}: ${project.error}; a person must repair the file`;
      throw new GateError("conflict", message);
    }
    const etag = etagOf(gone.project ? "" : project.text);
    if (change.if_match !== null && change.if_match !== "*" && change.if_match !== etag) {
      const next = "read the config and send the change with its new etag";
      throw new GateError("digest_mismatch", `${attempt}: the file has changed; ${next}`, {
        fields: { etag },
      });
    }
    rejectUnknownKeys(policies, project.value?.policies ?? {}, attempt);
    const after = this.#edited(project.text, policies, attempt);
    const layers = {
      global: global.value?.policies ?? null,
      override_global: override === "trusted",
    };
    // Compiled before the write, so that an unusable rule never reaches the file.
    const { policies: merged = null } = valueOf(this.#id, after) ?? {};
    compilePolicy({ project: merged, ...layers });
    // An unaccepted change in the file stays unaccepted: only the requested keys are accepted.
    const known = accepted.project?.text ?? "";
    const wanted = known === project.text ? after : this.#edited(known, policies, attempt);
    const accepting = await this.#proveEdit(wanted, accepted.project, caller);
    const before_sha256 = gone.project ? null : hashOf(project.text) || null;
    const keys = Object.keys(policies);
    const write = (made: Acceptance | null) =>
      this.#write(after, { keys, caller, before_sha256, made, proof: accepting?.proof ?? null });
    // The file first: a crash leaves a change that waits.
    if (accepting === null) await write(null);
    else await this.#configs.accepted.accept(this.#id, { ...accepting, record: write });
    return await this.view();
  }

  /**
   * Accepts the config of a project that is registered for the first time, if this caller may.
   * Otherwise the config tightens at once, and the rest waits.
   */
  async acceptFirst(caller: Pick<Caller, "id" | "scope">): Promise<void> {
    const { accepted } = this.#configs;
    const { row } = await accepted.find(this.#id);
    const { text, error } = loadConfig(this.#path, ProjectConfig);
    const isFirst = row.accepted === null && row.seen === null;
    if (!isFirst || text === "" || error !== null || this.#unusable(text) !== null) return;
    await accepted.see(this.#id, text);
    if (caller.scope !== "reviewer" || !await this.#takesTheFirst()) return;
    const number = await accepted.nextNumber(this.#id);
    await accepted.accept(this.#id, { path: this.#path, text, by: caller.id, proof: null, number });
  }

  /** Whether a config counts as accepted without a proof: no key is enrolled. */
  async #takesTheFirst(): Promise<boolean> {
    const { kind, problem } = await this.#configs.services.proofs.status();
    return problem === null && !isKey(kind);
  }

  /** Accepts the config of a project that an older release registered. */
  async acceptKnown(): Promise<void> {
    const { row } = await this.#configs.accepted.find(this.#id);
    if (row.accepted === null && row.seen === null && this.#builtin === null) {
      await this.acceptFirst({ id: "first use", scope: "reviewer" });
    }
  }

  /**
   * Records the newest acceptance of the machine's config in this project's open ledger, if the ledger
   * lacks it: no older one comes back when another ledger is lost.
   */
  async rememberMachine(): Promise<void> {
    if (this.#ledger === null) return;
    const found = newestOf(await this.#ledger.listPolicyChanges(), MACHINE);
    const accepted = await this.#configs.accepted.learn(MACHINE, found);
    if (accepted === null) return;
    await this.#record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "system", id: "gate" },
      // Its proof signs the newest event of another ledger, so it is only there.
      data: {
        source: "remembered",
        path: this.#configs.machine_path,
        after_sha256: accepted.sha256,
        accepted,
      },
    });
  }

  /** Lets the project's `overrideGlobal` replace the machine's rules. @throws GateError */
  async trustOverride(caller: Caller): Promise<void> {
    requireReviewer(caller, `trust the override of "${this.#id}"`, "gate project trust-override");
    const { accepted } = this.#configs;
    if (this.#builtin !== null) {
      throw new GateError("conflict", `Cannot trust "${this.#id}": no folder holds its config`);
    }
    if (accepted.trusts.has(this.#id)) return;
    const digest = trustDigest(this.#id);
    const proof = await this.#prove(caller, "trust_override", this.#id, digest);
    await accepted.trusts.add(this.#id, { by: caller.id, proof });
    await this.#recordTrust(true, caller, proof);
  }

  /** Makes the machine's rules apply again. */
  async revokeTrust(caller: Caller): Promise<void> {
    requireReviewer(caller, `revoke the trust in "${this.#id}"`, "gate project trust-override");
    const { accepted } = this.#configs;
    if (!accepted.trusts.has(this.#id)) return;
    await accepted.trusts.remove(this.#id);
    await this.#recordTrust(false, caller, null);
  }

  async #recordTrust(override_global: boolean, caller: Caller, proof: Accepted["proof"]) {
    await this.#record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "reviewer", id: caller.id },
      data: { source: "trust", override_global, ...proof && { proof } },
    });
  }

  /** Why the rules of a config cannot be used; null for usable ones. */
  #unusable(text: string): string | null {
    const value = valueOf(this.#id, text);
    if (value === null) return "it is not valid";
    return compile(value, null, false).error;
  }

  #edited(text: string, policies: Policies, attempt: string): string {
    const before = text === "" ? newConfig(this.#id) : text;
    const value = valueOf(this.#id, before) ?? {};
    const after = editPolicies(before, value.policies ?? {}, policies);
    const parsed = parseConfig(this.#path, after, ProjectConfig);
    if (parsed.error !== null) throw new GateError("invalid", `${attempt}: ${parsed.error}`);
    return after;
  }

  /** A change that only tightens needs no proof: the version before it keeps its own. */
  async #proveEdit(
    text: string,
    before: Accepted | null,
    caller: Caller,
  ): Promise<Accepting | null> {
    const after = { sha256: hashOf(text), text };
    if (before?.sha256 === after.sha256) return null;
    const old = before === null ? {} : valueOf(this.#id, before.text);
    const differences = compareConfigs(old ?? {}, valueOf(this.#id, text) ?? {}, [
      (await this.#read()).global.value?.policies,
    ]);
    const loosens = differences.some(({ in_force }) => !in_force);
    const path = this.#path;
    const number = await this.#configs.accepted.nextNumber(this.#id);
    const digest = acceptDigest(path, after.sha256, number);
    const proof = loosens ? await this.#prove(caller, "change_policies", this.#id, digest) : null;
    const base = loosens ? null : before;
    // Without a version before, the file itself already holds what tightens.
    if (!loosens && before === null && !await this.#takesTheFirst()) return null;
    return { path, text, by: caller.id, proof, number, base };
  }

  async #prove(caller: Caller, verb: ProofVerb, owner: string, digest: string) {
    return await this.#configs.services.proofs.require(caller, {
      verb,
      project_id: owner || null,
      action_id: null,
      digest,
      head: this.#ledger?.head() ?? null,
    });
  }

  async #write(
    text: string,
    { keys, caller, before_sha256, made, proof }: {
      keys: string[];
      caller: Caller;
      before_sha256: string | null;
      made: Acceptance | null;
      proof: Accepted["proof"];
    },
  ): Promise<void> {
    const after_sha256 = hashOf(text);
    // An acceptance is recorded even when the file holds its text already.
    if (before_sha256 === after_sha256 && made === null) return;
    if (before_sha256 !== after_sha256) {
      this.#ledger?.writes?.(this.#path);
      writeWhole(resolvePath(this.#path).real, text, 0o644);
      await this.#configs.accepted.see(this.#id, text);
    }
    await this.#record({
      session_id: null,
      action_id: null,
      type: "policy.changed",
      actor: { kind: "reviewer", id: caller.id },
      data: {
        source: "gate",
        path: this.#path,
        keys,
        before_sha256,
        after_sha256,
        ...made && { accepted: made },
        ...proof && { proof },
      },
    });
  }

  async #record(event: NewEvent): Promise<void> {
    await this.#ledger?.record(event);
  }

  /** Records a change of a file outside the gate, while the ledger is open. */
  async #watch(files: Snapshot["files"]): Promise<void> {
    const { accepted, machine_path, services } = this.#configs;
    if (this.#ledger === null) return;
    await accepted.see(MACHINE, files.global.text);
    const noted = [
      [this.#path, files.project.text, await accepted.see(this.#id, files.project.text)],
      [machine_path, files.global.text, await accepted.seeMachine(this.#id, files.global.text)],
    ] as const;
    for (const [path, text, before] of noted) {
      if (before === undefined) continue;
      const hashes = { before_sha256: before || null, after_sha256: hashOf(text) || null };
      this.#record({
        session_id: null,
        action_id: null,
        type: "policy.changed",
        actor: { kind: "system", id: "file" },
        data: { source: "file", path, ...hashes },
      }).catch((error) => services.environment.log("error", UNRECORDED, { path, error }));
    }
  }

  async #outside({ files, accepted }: Snapshot): Promise<OutsideChange[]> {
    const { accepted: store, machine_path } = this.#configs;
    const sides = [
      ...this.#builtin === null
        ? [{ owner: this.#id, path: this.#path, file: files.project, known: accepted.project }]
        : [],
      { owner: MACHINE, path: machine_path, file: files.global, known: accepted.global },
    ];
    const changes = sides.map(async ({ owner, path, file, known }) => {
      const { row } = await store.find(owner);
      const after = { sha256: hashOf(file.text), text: file.text };
      const before = known ?? NOTHING;
      if (before.sha256 === after.sha256) return [];
      const at = row.changed_at ?? new Date(this.#configs.services.environment.now()).toISOString();
      const others = owner === MACHINE ? files.project.value : files.global.value;
      const number = await store.nextNumber(owner);
      return [describeOutside(owner, { path, at, before, after, number }, [others?.policies])];
    });
    return (await Promise.all(changes)).flat();
  }

  #goneProblems({ gone, forged, accepted }: Snapshot): DaemonProblem[] {
    const { machine_path } = this.#configs;
    const forgedIn = (path: string, fault: Fault) => this.#toAccept(path, forgedError(path, fault));
    const isLost = accepted.global === null && forged.global === null;
    return [
      ...(gone.project
        ? [
          problemOf(
            goneError(this.#path),
            `${PUT_BACK}, or run gate init in the project's new folder`,
          ),
        ]
        : []),
      ...(gone.global ? [problemOf(goneError(machine_path), PUT_BACK)] : []),
      ...(forged.project ? [forgedIn(this.#path, forged.project)] : []),
      ...(forged.global ? [forgedIn(machine_path, forged.global)] : []),
      ...(isLost ? [problemOf(lostError(machine_path))] : []),
    ];
  }

  /** A problem that ends when a person accepts the config with this path. */
  #toAccept(path: string, message: string): DaemonProblem {
    const isOwn = path === this.#path && this.#builtin === null;
    const named = isOwn ? ` --project ${this.#id}` : "";
    return problemOf(message, `gate config show${named}, then gate config accept${named}`);
  }

  /** The projects around this one. Listed again when a project or a folder is added. */
  async #listParents(): Promise<Config[]> {
    const listed = this.#configs.services.listRoots();
    const roots = this.#roots.join("\n");
    if (this.#parents?.listed !== listed || this.#parents.roots !== roots) {
      const parents = await this.#configs.listParents(this.#id, this.#roots);
      this.#parents = { roots, listed, parents };
    }
    return this.#parents.parents;
  }

  /** The layers of this project for a request in these folders, which may lie outside. */
  async #layersFor(roots: readonly string[]): Promise<{ key: string; layers: PolicyLayer[] }> {
    const { key, layers } = await this.#read();
    const all = [...new Set([...this.#roots, ...roots])];
    const inside = (root: string) => this.#roots.some((one) => root.startsWith(`${one}/`));
    const own = all.filter((root) => this.#roots.includes(root) || !inside(root));
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
      ? await home.#allLayersFor(this.#roots)
      : await this.#machineLayers();
    const reason = `The agent works in "${home_project}", so a person decides on what it does in ` +
      `"${this.#id}"`;
    // The machine's own rules are no laxer place to go: both policies are enough.
    const finding = this.#builtin === null
      ? builtin("ask", "other-project", this.#id, reason)
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
    const { accepted, files, key } = await this.#read();
    const globals = [valueOf(MACHINE, accepted.global?.text ?? ""), files.global.value];
    const layers = globals.map((global) => ({ compiled: compile(null, global, false) }));
    return { key, layers };
  }

  async #read(): Promise<Snapshot> {
    for (let round = 0; round < MOST_READS; round++) {
      const known = this.#snapshot;
      if (known?.key === this.#key()) return known;
      await (this.#reading ??= this.#readAgain().finally(() => this.#reading = null));
    }
    throw new GateError("unavailable", `Cannot read "${this.#path}": it changes all the time`);
  }

  #key(): string {
    return [this.#path, fingerprint(this.#path), this.#configs.stateKey()].join(" ");
  }

  async #readAgain(): Promise<void> {
    const { accepted: store } = this.#configs;
    const machine = await store.find(MACHINE);
    const entry = this.#builtin === null
      ? await store.findIn(this.#id, this.#roots)
      : await store.find(this.#id);
    const key = this.#key();
    const files = {
      project: this.#builtin === null
        ? loadConfig(this.#path, ProjectConfig)
        : { ...parseAccepted(null, ProjectConfig), value: this.#builtin },
      global: this.#configs.readMachine().loaded,
    };
    await this.#watch(files);
    this.#snapshot = compose({
      key,
      files,
      entry,
      machine,
      is_builtin: this.#builtin !== null,
      is_trusted: store.trusts.has(this.#id),
    });
  }
}

const MOST_READS = 20;
const UNRECORDED = "Cannot record a policy change";

function etagOf(text: string): string {
  return `"${hashOf(text).slice(0, 32) || "none"}"`;
}

function newConfig(id: string): string {
  return `${JSON.stringify({ id, version: "2", policies: {} }, null, 2)}\n`;
}

const PUT_BACK = "put the file back";
