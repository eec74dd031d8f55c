import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../db/database.ts";
import type { Environment } from "../environment.ts";
import type { ProofRecord } from "../proof/schema.ts";
import { trustDigest } from "./digests.ts";
import { readTrustFile } from "./older_release.ts";
import type { ProofCheck } from "./proof_check.ts";
import { isKey, readSeal } from "./seal.ts";
import { deleteTrust, listTrusts, saveTrust } from "./store.ts";

interface TrustServices {
  registry: Database;
  environment: Pick<Environment, "home" | "now" | "log">;
  proofs: ProofCheck;
}

/**
 * The projects whose `overrideGlobal` a person trusts on this machine, in `gate.db`. While a key is
 * enrolled, a trust counts only with a signature.
 */
export class OverrideTrusts {
  readonly #services: TrustServices;
  #trusted = new Set<string>();
  #version = 0;

  private constructor(services: TrustServices) {
    this.#services = services;
  }

  /** Reads the trusts that count, and imports those of an older release. */
  static async open(services: TrustServices): Promise<OverrideTrusts> {
    const trusts = new OverrideTrusts(services);
    await trusts.#import();
    await trusts.#load();
    return trusts;
  }

  /** Changes with every trust. */
  get version(): number {
    return this.#version;
  }

  /** The ids of the trusted projects, sorted. */
  list(): string[] {
    return [...this.#trusted].toSorted();
  }

  has(project_id: string): boolean {
    return this.#trusted.has(project_id);
  }

  async add(
    project_id: string,
    { by, proof }: { by: string; proof: ProofRecord | null },
  ): Promise<void> {
    await this.#services.registry.batch([saveTrust(project_id, { at: this.#now(), by, proof })]);
    this.#trusted.add(project_id);
    this.#version++;
  }

  async remove(project_id: string): Promise<void> {
    await this.#services.registry.batch([deleteTrust(project_id)]);
    this.#trusted.delete(project_id);
    this.#version++;
  }

  async #load(): Promise<void> {
    const { registry, proofs, environment } = this.#services;
    const rows = await listTrusts(registry);
    if (rows.length === 0) return;
    const { kind, problem } = await proofs.status();
    const sealed = new Set((await readSeal(registry, proofs.sealed_sha256)).trusts);
    for (const { project_id, proof } of rows) {
      const about = { verbs: TRUSTING, project_id, digest: trustDigest(project_id) };
      const isValid = problem === null && (!isKey(kind) || sealed.has(project_id) ||
        (proof !== null && await proofs.isValid(proof as ProofRecord, about)));
      if (isValid) this.#trusted.add(project_id);
      else environment.log("warn", UNPROVED, { project_id });
    }
  }

  /** An older release kept the trusts in a file, which any program of the user can write. */
  async #import(): Promise<void> {
    const { registry, environment, proofs } = this.#services;
    const path = join(environment.home, "trust.json");
    if (!existsSync(path)) return;
    const how = { at: this.#now(), by: "import", proof: null };
    const { kind, problem } = await proofs.status();
    const ids = isKey(kind) || problem !== null ? [] : readTrustFile(path);
    if (ids.length > 0) await registry.batch(ids.map((id) => saveTrust(id, how)));
    rmSync(path, { force: true });
  }

  #now(): string {
    return new Date(this.#services.environment.now()).toISOString();
  }
}

const TRUSTING = ["trust_override"] as const;
const UNPROVED = "Cannot trust the project's overrideGlobal: no proof fits the record";
