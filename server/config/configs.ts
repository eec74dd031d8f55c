import { join } from "node:path";
import { MACHINE_ID } from "../constants.ts";
import type { Database } from "../db/database.ts";
import { AcceptedConfigs } from "./accepted.ts";
import type { Config, ProjectConfigs } from "./config.ts";
import { MACHINE } from "./config_text.ts";
import { oncePerMessage } from "./daemon_problem.ts";
import { fingerprint, loadConfig, type Loaded } from "./load.ts";
import { type DaemonProblem, GlobalConfig } from "./schema.ts";
import { listProblems } from "./outside.ts";
import { isKey } from "./seal.ts";
import { parseAccepted } from "./snapshot.ts";
import { findConfig } from "./store.ts";

/** The parts of a daemon that the configs need. */
export type ConfigsServices = ProjectConfigs["services"] & {
  registry: Database;
  /** Creates the config of one project. */
  create: (configs: ProjectConfigs, project_id: string, roots: readonly string[]) => Config;
};

/** How many days contents are kept. */
export interface RetentionDays {
  /** The number in force; null keeps contents for ever. */
  days: number | null;
  /** A number that no person has accepted yet. */
  waiting: number | null;
}

/** The configs of all projects and of the machine, one object for each project. */
export class Configs implements ProjectConfigs {
  readonly services: ConfigsServices;
  readonly accepted: AcceptedConfigs;
  readonly #configs = new Map<string, Config>();
  #machine: { key: string; loaded: Loaded<GlobalConfig> } | null = null;

  private constructor(services: ConfigsServices, accepted: AcceptedConfigs) {
    this.services = services;
    this.accepted = accepted;
  }

  static async open(services: ConfigsServices): Promise<Configs> {
    const accepted = await AcceptedConfigs.open(services);
    const configs = new Configs(services, accepted);
    await configs.#acceptMachine();
    return configs;
  }

  /** The path of the machine's config. */
  get machine_path(): string {
    return join(this.services.environment.home, "config.json");
  }

  /** The machine's config file, read again when it has changed. */
  readMachine(): { key: string; loaded: Loaded<GlobalConfig> } {
    const key = fingerprint(this.machine_path);
    if (this.#machine?.key !== key) {
      this.#machine = { key, loaded: loadConfig(this.machine_path, GlobalConfig) };
    }
    return this.#machine;
  }

  /** The machine's config as a person accepted it; null before the first acceptance. */
  async acceptedMachine(): Promise<GlobalConfig | null> {
    const { accepted } = await this.accepted.find(MACHINE);
    return parseAccepted(accepted, GlobalConfig).value;
  }

  /**
   * The days of the retention. A person must have accepted a number, and the file must still name one;
   * the larger one holds.
   */
  async retentionDays(): Promise<RetentionDays> {
    const accepted = (await this.acceptedMachine())?.retention?.days;
    const written = this.readMachine().loaded.value?.retention?.days;
    if (written === undefined) return { days: null, waiting: null };
    if (accepted === undefined) return { days: null, waiting: written };
    return { days: Math.max(accepted, written), waiting: null };
  }

  /** A text that changes with everything accepted and with the machine's config file. */
  stateKey(): string {
    return `${this.accepted.version} ${fingerprint(this.machine_path)}`;
  }

  /** The config of a project in these folders. The array may change later. */
  of(project_id: string, roots: readonly string[]): Config {
    const known = this.#configs.get(project_id);
    const config = known ?? this.services.create(this, project_id, roots);
    this.#configs.set(project_id, config);
    return config;
  }

  /** Records the newest acceptance of the machine's config in every open ledger that lacks it. */
  async rememberMachine(): Promise<void> {
    for (const config of this.#configs.values()) {
      try {
        await config.changes.rememberMachine();
      } catch (error) {
        // Its ledger gets it at its next opening.
        const { log } = this.services.environment;
        log("error", "Cannot record an accepted config", { error: String(error) });
      }
    }
  }

  /** The config of a registered project; null for any other id. */
  async find(project_id: string): Promise<Config | null> {
    const known = this.#configs.get(project_id);
    if (known) return known;
    if (project_id === MACHINE_ID) return this.of(project_id, []);
    const found = (await this.services.listRoots()).find(({ id }) => id === project_id);
    return found ? this.of(project_id, found.roots) : null;
  }

  /** The projects that hold one of these folders, outermost first. */
  async listParents(project_id: string, roots: readonly string[]): Promise<Config[]> {
    const around = (await this.services.listRoots()).filter(({ id, roots: theirs }) =>
      id !== project_id && roots.some((root) => theirs.some((one) => root.startsWith(`${one}/`)))
    );
    const lengthOf = (all: readonly string[]) => Math.min(...all.map((root) => root.length));
    return around.toSorted((a, b) => lengthOf(a.roots) - lengthOf(b.roots))
      .map(({ id, roots: theirs }) => this.of(id, theirs));
  }

  /** The problems of the configs in use that a person must solve; one of the global config once. */
  async problems(): Promise<DaemonProblem[]> {
    const all = [...this.#configs.values()];
    const found = await Promise.all(all.map(({ files }) => listProblems(files)));
    return oncePerMessage(found.flat());
  }

  /** The config of a new home is accepted as it is; with an enrolled key it waits for a person. */
  async #acceptMachine(): Promise<void> {
    const { registry, proofs } = this.services;
    if (await findConfig(registry, MACHINE) !== null) return;
    const { loaded } = this.readMachine();
    const { kind, problem } = await proofs.status();
    if (isKey(kind) || problem !== null || loaded.error !== null) return;
    const number = await this.accepted.nextNumber(MACHINE);
    const first = {
      path: this.machine_path,
      text: loaded.text,
      by: "first use",
      proof: null,
      number,
    };
    await this.accepted.accept(MACHINE, first);
  }
}
