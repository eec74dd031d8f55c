import { join } from "node:path";
import type { NewEvent } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import type { AcceptedConfigs } from "./accepted.ts";
import { hashOf, MACHINE, PROJECT_FILE } from "./config_text.ts";
import { fingerprint, loadConfig, type Loaded } from "./load.ts";
import type { ProofCheck } from "./proof_check.ts";
import { type GlobalConfig, ProjectConfig } from "./schema.ts";
import { compose, parseAccepted, type Snapshot } from "./snapshot.ts";

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
  /** Records the newest acceptance of the machine's config in every open ledger that lacks it. */
  rememberMachine: () => Promise<void>;
}

/**
 * The config files of one project: read again when one has changed, and each change from outside is
 * recorded in the project's open ledger.
 */
export class ProjectFiles {
  readonly configs: ConfigServices;
  readonly id: string;
  /** The config where no folder holds one. It is part of gate, so nobody changes it. */
  readonly builtin: ProjectConfig | null;
  #roots: readonly string[];
  #ledger: ConfigLedger | null = null;
  #snapshot: Snapshot | null = null;
  #reading: Promise<void> | null = null;

  constructor(
    configs: ConfigServices,
    project: { id: string; roots: readonly string[]; builtin: ProjectConfig | null },
  ) {
    this.configs = configs;
    this.id = project.id;
    this.#roots = project.roots;
    this.builtin = project.builtin;
  }

  /** The folders of the project. */
  get roots(): readonly string[] {
    return this.#roots;
  }

  /** The project's ledger while it is open. */
  get ledger(): ConfigLedger | null {
    return this.#ledger;
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

  /** The project's config. Computed each time, because a moved folder changes the roots of an open project. */
  get path(): string {
    return join(this.#roots[0]!, PROJECT_FILE);
  }

  /** The files as they are now. @throws GateError `unavailable` for files that change all the time */
  async read(): Promise<Snapshot> {
    for (let round = 0; round < MOST_READS; round++) {
      const known = this.#snapshot;
      if (known?.key === this.#key()) return known;
      await (this.#reading ??= this.#readAgain().finally(() => this.#reading = null));
    }
    throw new GateError("unavailable", `Cannot read "${this.path}": it changes all the time`);
  }

  #key(): string {
    return [this.path, fingerprint(this.path), this.configs.stateKey()].join(" ");
  }

  async #readAgain(): Promise<void> {
    const { accepted: store } = this.configs;
    const machine = await store.find(MACHINE);
    const entry = this.builtin === null
      ? await store.findIn(this.id, this.#roots)
      : await store.find(this.id);
    const key = this.#key();
    const files = {
      project: this.builtin === null
        ? loadConfig(this.path, ProjectConfig)
        : { ...parseAccepted(null, ProjectConfig), value: this.builtin },
      global: this.configs.readMachine().loaded,
    };
    await this.#watch(files);
    this.#snapshot = compose({
      key,
      files,
      entry,
      machine,
      is_builtin: this.builtin !== null,
      is_trusted: store.trusts.has(this.id),
    });
  }

  /** Appends an event to the ledger while it is open. */
  async record(event: NewEvent): Promise<void> {
    await this.#ledger?.record(event);
  }

  /** Records a change of a file outside the gate, while the ledger is open. */
  async #watch(files: Snapshot["files"]): Promise<void> {
    const { accepted, machine_path, services } = this.configs;
    if (this.#ledger === null) return;
    await accepted.see(MACHINE, files.global.text);
    const noted = [
      [this.path, files.project.text, await accepted.see(this.id, files.project.text)],
      [machine_path, files.global.text, await accepted.seeMachine(this.id, files.global.text)],
    ] as const;
    for (const [path, text, before] of noted) {
      if (before === undefined) continue;
      const hashes = { before_sha256: before || null, after_sha256: hashOf(text) || null };
      this.record({
        session_id: null,
        action_id: null,
        type: "policy.changed",
        actor: { kind: "system", id: "file" },
        data: { source: "file", path, ...hashes },
      }).catch((error) => services.environment.log("error", UNRECORDED, { path, error }));
    }
  }
}

const MOST_READS = 20;
const UNRECORDED = "Cannot record a policy change";
