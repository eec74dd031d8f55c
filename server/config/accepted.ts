import { rmSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../db/chain.ts";
import type { Database } from "../db/database.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { canonical } from "../evidence/canonical.ts";
import type { ProofRecord } from "../proof/schema.ts";
import { hashOf, PROJECT_FILE, tightensOnly } from "./config_text.ts";
import { acceptDigest, rootAsked } from "./digests.ts";
import { type Acceptance, NEVER, type Newest, readNewest } from "./history.ts";
import { importPin, pinFile } from "./older_release.ts";
import { OverrideTrusts } from "./override_trusts.ts";
import type { ProofCheck } from "./proof_check.ts";
import { isKey, readSeal, type Sealed } from "./seal.ts";
import {
  type Accepted,
  type ConfigRow,
  findConfig,
  listAllRoots,
  listConfigs,
  saveConfig,
  saveSeal,
  type Version,
} from "./store.ts";

/** A config as the daemon keeps it in memory. */
export interface Entry {
  row: ConfigRow;
  /** The accepted version, unless somebody else has changed it. */
  accepted: Accepted | null;
  /** Why the kept text is not the one that a person accepted last; null when it is. */
  fault: Fault | null;
  /** The newest acceptance that is known. */
  newest: Newest;
}

/**
 * `unproved`: no proof fits the text. `older`: a person has accepted another text after it.
 * `unrecorded`: no ledger names the acceptance. `elsewhere`: a person has accepted it for another
 * folder.
 */
export type Fault = "unproved" | "older" | "unrecorded" | "elsewhere";

/** The kind of proof at one moment. */
type Deciding = Pick<Awaited<ReturnType<ProofCheck["status"]>>, "kind" | "problem">;

/** The state that an accepted text is compared with. */
interface Around {
  newest: Newest;
  deciding: Deciding;
}

/** A text that a person accepts. */
export interface Accepting {
  path: string;
  text: string;
  by: string;
  proof: ProofRecord | null;
  number: number;
  /** The accepted version that it only tightens. */
  base?: Accepted | null;
  /** Writes the audit event that names the acceptance. Needed while a key is enrolled. */
  record?: (accepted: Acceptance) => Promise<void>;
}

export interface AcceptedServices {
  registry: Database;
  environment: Pick<Environment, "home" | "now" | "log">;
  proofs: ProofCheck;
}

/**
 * The config texts that a person accepted, in `gate.db`. While a key is enrolled, a text counts only
 * with a signature over its hash, so another program cannot accept anything by editing the database.
 */
export class AcceptedConfigs {
  readonly #services: AcceptedServices;
  readonly #entries = new Map<string, Promise<Entry>>();
  /** The entries whose reading has ended, for `seal()`, which must not wait for one. */
  readonly #read = new Map<string, Entry>();
  #turn: Promise<unknown> = Promise.resolve();
  #version = 0;

  /** The projects whose `overrideGlobal` a person trusts. */
  readonly trusts: OverrideTrusts;

  private constructor(services: AcceptedServices, trusts: OverrideTrusts) {
    this.#services = services;
    this.trusts = trusts;
  }

  /** Reads the trusts; each config is read when it is first used. */
  static async open(services: AcceptedServices): Promise<AcceptedConfigs> {
    return new AcceptedConfigs(services, await OverrideTrusts.open(services));
  }

  /** Reads each config again when it is used: another machine has changed the proof of this home. */
  forget(): void {
    this.#entries.clear();
    this.#read.clear();
    this.#version++;
  }

  /** Changes with every accepted text and every trust. */
  get version(): string {
    return `${this.#version} ${this.trusts.version}`;
  }

  /** The config of a project, or of the machine. */
  find(project_id: string): Promise<Entry> {
    let entry = this.#entries.get(project_id);
    if (!entry) {
      entry = this.#load(project_id);
      this.#entries.set(project_id, entry);
      entry.catch(() => this.#entries.delete(project_id));
    }
    return entry;
  }

  /**
   * The config of a project in these folders. While a key is enrolled, a text counts only in the
   * folder for which a person accepted it: `gate.db` may name another folder.
   */
  async findIn(project_id: string, roots: readonly string[]): Promise<Entry> {
    const entry = await this.find(project_id);
    const { accepted } = entry;
    if (accepted === null) return entry;
    const isHere = roots.some((root) => join(root, PROJECT_FILE) === accepted.path);
    if (isHere || !isKey((await this.#services.proofs.status()).kind)) return entry;
    return { ...entry, accepted: null, fault: "elsewhere" };
  }

  /**
   * Records the text that the gate read. Returns the hash of the text before, or undefined for the
   * first text and for an unchanged one.
   */
  async see(project_id: string, text: string): Promise<string | undefined> {
    const entry = await this.find(project_id);
    const { seen, changed_at } = entry.row;
    const now: Version = { sha256: hashOf(text), text };
    if (seen?.sha256 === now.sha256 && seen.text !== null) return undefined;
    const isAccepted = entry.accepted?.sha256 === now.sha256;
    entry.row = {
      ...entry.row,
      seen: now,
      changed_at: isAccepted ? null : changed_at ?? this.#now(),
    };
    await this.#save(entry);
    return seen === null || seen.sha256 === now.sha256 ? undefined : seen.sha256;
  }

  /** Records the machine's config in a project's ledger. Returns as `see()` does. */
  async seeMachine(project_id: string, text: string): Promise<string | undefined> {
    const entry = await this.find(project_id);
    const before = entry.row.machine_sha256;
    const now = hashOf(text);
    if (before === now) return undefined;
    entry.row = { ...entry.row, machine_sha256: now };
    await this.#save(entry);
    return before ?? undefined;
  }

  /** The number of the next acceptance of this config. */
  async nextNumber(project_id: string): Promise<number> {
    const { accepted, newest } = await this.find(project_id);
    return Math.max(accepted?.number ?? 0, newest.number) + 1;
  }

  /**
   * Makes a text the accepted one. `record` writes the audit event that names the acceptance: it
   * comes first, because gate.db alone can be changed back. A crash after it is made good by
   * `#complete()`. @throws GateError `conflict` when another one was accepted since `nextNumber()`
   */
  accept(project_id: string, how: Accepting): Promise<void> {
    const turn = this.#turn.then(() => this.#accept(project_id, how));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #accept(project_id: string, how: Accepting): Promise<void> {
    const { path, text, by, proof, number, base = null, record } = how;
    const entry = await this.find(project_id);
    if (number !== await this.nextNumber(project_id)) {
      const message = `Cannot accept "${path}": another version was accepted just now; ` +
        "a person must review the file, then accept it";
      throw new GateError("conflict", message);
    }
    const version: Version = { sha256: hashOf(text), text };
    const { sha256 } = version;
    await record?.({ project_id, number, sha256 });
    const accepted: Accepted = {
      ...version,
      path,
      number,
      accepted_at: this.#now(),
      accepted_by: by,
      proof,
      base: base === null ? null : base.base ?? withoutBase(base),
    };
    const proved = proof === null ? entry.newest.proved : number;
    entry.newest = { number, sha256, proved, path, proof };
    entry.row = {
      ...entry.row,
      accepted,
      seen: entry.row.seen ?? version,
      changed_at: entry.row.seen?.sha256 === sha256 ? null : entry.row.changed_at,
    };
    entry.accepted = accepted;
    entry.fault = null;
    this.#version++;
    await this.#save(entry);
  }

  /** Why the accepted text in gate.db would not count after the next start; null if it would. */
  async compare(project_id: string): Promise<Fault | null> {
    const deciding = await this.#services.proofs.status();
    const row = await findConfig(this.#services.registry, project_id);
    // Nobody knows the key while the proof has a problem, which the status tells.
    if (row === null || !isKey(deciding.kind) || deciding.problem !== null) return null;
    return (await this.#check(row, deciding)).fault;
  }

  /**
   * The folders of a project in which its accepted config counts: its own, and those that a person
   * added with a proof or that were there before the proof. Another program can write `gate.db`.
   */
  async countRoots(
    project_id: string,
    roots: string[],
    proofs: ReadonlyMap<string, string | null>,
  ): Promise<string[]> {
    const { kind, problem } = await this.#services.proofs.status();
    if (!isKey(kind) && problem === null) return roots;
    const { accepted } = await this.find(project_id);
    // Without an accepted config, no folder is judged by one.
    if (accepted === null) return roots;
    const { roots: sealed } = await this.#seal();
    const counted = await Promise.all(
      roots.map(async (root) =>
        join(root, PROJECT_FILE) === accepted.path || (sealed === undefined ||
          sealed.some((one) => one.project_id === project_id && one.root === root)) ||
        await this.#isRootSigned(project_id, root, proofs.get(root) ?? null)
      ),
    );
    return roots.filter((_, index) => counted[index]);
  }

  async #isRootSigned(project_id: string, root: string, proof: string | null): Promise<boolean> {
    if (proof === null) return false;
    const about = {
      verbs: ADDING,
      project_id,
      digest: sha256(canonical(rootAsked(project_id, root))),
    };
    try {
      return await this.#services.proofs.isValid(JSON.parse(proof) as ProofRecord, about);
    } catch {
      return false;
    }
  }

  /**
   * Takes over what a ledger knows of the newest acceptance. Returns the one that the ledger lacks;
   * null if it lacks none. Without a key nothing is compared.
   */
  async learn(project_id: string, found: Newest): Promise<Acceptance | null> {
    const deciding = await this.#services.proofs.status();
    if (!isKey(deciding.kind)) return null;
    const entry = await this.find(project_id);
    if (found.number > entry.newest.number) {
      Object.assign(entry, await this.#check(entry.row, deciding));
      this.#version++;
    }
    const { number, sha256, proved } = entry.newest;
    if (number <= found.number) return null;
    return { project_id, number, sha256, ...proved === number && { proved: true } };
  }

  /**
   * Keeps the list of everything accepted so far and returns its hash. The change of the proof
   * signs or records the hash, so the listed configs stay accepted under the next key. A text that
   * no proof fits is left out. It waits for no other entry, because those may wait for this change.
   */
  async seal(deciding: Deciding): Promise<string> {
    const { registry } = this.#services;
    const trusts = this.trusts.list();
    const configs: Sealed[] = [];
    for (const row of await listConfigs(registry)) {
      const { project_id } = row;
      const entry = this.#read.get(project_id) ?? await this.#check(row, deciding);
      if (entry.accepted === null) continue;
      if (!isKey(deciding.kind)) await this.#renumber(entry);
      const { path, sha256, number } = entry.accepted;
      configs.push({ project_id, path, sha256, number, after: entry.newest.number });
    }
    const roots = await this.#rootsToSeal(configs, deciding);
    const list = canonical({ configs, trusts, roots });
    const hash = sha256(list);
    await registry.batch([saveSeal(hash, list)]);
    this.#version++;
    return hash;
  }

  /** A folder that does not count does not begin to count with a change of the proof. */
  async #rootsToSeal(configs: readonly Sealed[], { kind }: Deciding) {
    const { registry } = this.#services;
    const all = await listAllRoots(registry);
    if (!isKey(kind)) return all;
    const { roots: sealed } = await this.#seal();
    return all.filter(({ project_id, root }) =>
      configs.some((one) =>
        one.project_id === project_id && one.path === join(root, PROJECT_FILE)
      ) ||
      sealed === undefined ||
      sealed.some((one) => one.project_id === project_id && one.root === root)
    );
  }

  /** Without a key, gate.db alone says what is accepted, and another gate.db may have been lost. */
  async #renumber(entry: Entry): Promise<void> {
    const { row, accepted } = entry;
    entry.newest = await readNewest(this.#services.environment.home, row.project_id);
    if (accepted === null || accepted.number > entry.newest.number) return;
    if (isNewest(accepted, entry.newest)) return;
    entry.accepted = { ...accepted, number: entry.newest.number + 1 };
    entry.row = { ...row, accepted: entry.accepted };
    await this.#save(entry);
  }

  async #load(project_id: string): Promise<Entry> {
    const { registry, environment } = this.#services;
    const found = await findConfig(registry, project_id);
    const row = found ?? importPin(environment.home, project_id) ?? {
      project_id,
      accepted: null,
      seen: null,
      changed_at: null,
      machine_sha256: null,
    };
    const entry = await this.#check(row, await this.#services.proofs.status());
    this.#read.set(project_id, entry);
    if (!found && row.seen !== null) {
      await this.#save(entry);
      rmSync(pinFile(environment.home, project_id), { force: true });
    }
    return entry;
  }

  async #check(row: ConfigRow, deciding: Deciding): Promise<Entry> {
    const { home } = this.#services.environment;
    const newest = isKey(deciding.kind) ? await readNewest(home, row.project_id) : NEVER;
    const around = { newest, deciding };
    const fault = row.accepted && await this.#faultOf(row.project_id, row.accepted, around);
    const accepted = fault === null ? row.accepted : null;
    if (accepted !== null) return { row, accepted, fault, newest };
    const completed = await this.#complete(row, around);
    if (completed === null) return { row, accepted, fault, newest };
    return { row: { ...row, accepted: completed }, accepted: completed, fault: null, newest };
  }

  /** The acceptance that the ledgers name and gate.db lacks, because of a crash between the two. */
  async #complete(row: ConfigRow, around: Around): Promise<Accepted | null> {
    const { project_id, accepted, seen } = row;
    const { number, sha256, path, proof } = around.newest;
    if (number <= (accepted?.number ?? 0) || seen?.sha256 !== sha256) return null;
    if (path === null || seen.text === null) return null;
    const completed: Accepted = {
      ...seen,
      path,
      number,
      proof,
      accepted_at: this.#now(),
      accepted_by: proof?.challenge.member_id ?? accepted?.accepted_by ?? "recovery",
      // Without a proof of its own, it tightened what was accepted before.
      base: proof !== null || accepted === null ? null : accepted.base ?? withoutBase(accepted),
    };
    return await this.#faultOf(project_id, completed, around) === null ? completed : null;
  }

  async #faultOf(
    project_id: string,
    accepted: Accepted,
    { newest, deciding }: Around,
  ): Promise<Fault | null> {
    if (accepted.text !== null && hashOf(accepted.text) !== accepted.sha256) return "unproved";
    if (deciding.problem !== null) return "unproved";
    if (!isKey(deciding.kind)) return null;
    const fault = await this.#faultOfSigned(project_id, accepted, newest);
    const { base } = accepted;
    if (fault !== "unproved" || base === null) return fault;
    if (hashOf(base.text ?? "") !== base.sha256) return "unproved";
    if (!tightensOnly(project_id, base, accepted)) return "unproved";
    const fault_of_base = await this.#faultOfSigned(project_id, base, newest);
    if (fault_of_base === null || fault_of_base === "unproved") return fault_of_base;
    // The base must be what was in force before it, or else it is the way to an older text.
    return isNewest(accepted, newest) && base.number >= newest.proved ? null : fault_of_base;
  }

  /** Why a text does not count by itself: no signature, or the ledgers name another acceptance. */
  async #faultOfSigned(
    project_id: string,
    of: Omit<Accepted, "base">,
    newest: Newest,
  ): Promise<Fault | null> {
    const { path, sha256, proof } = of;
    const number = of.number ?? 0;
    const digest = acceptDigest(path, sha256, number);
    const about = { verbs: ACCEPTING, project_id: project_id || null, digest };
    const sealed = (await this.#seal()).configs.find((one) =>
      one.project_id === project_id && one.path === path && one.sha256 === sha256 &&
      (one.number ?? 0) === number
    );
    const isProved = proof !== null && await this.#services.proofs.isValid(proof, about);
    if (!isProved && sealed === undefined) return "unproved";
    if (isNewest(of, newest)) return null;
    if (number <= newest.number) return "older";
    // Acceptances from before the first key may be in no ledger. None came after their seal.
    return sealed !== undefined && newest.number === (sealed.after ?? 0) ? null : "unrecorded";
  }

  #seal() {
    const { registry, proofs } = this.#services;
    return readSeal(registry, proofs.sealed_sha256);
  }

  async #save(entry: Entry): Promise<void> {
    await this.#services.registry.batch([saveConfig(entry.row)]);
  }

  #now(): string {
    return new Date(this.#services.environment.now()).toISOString();
  }
}

const ACCEPTING = ["accept_config", "change_policies", "register_project"] as const;
const ADDING = ["register_project"] as const;

/** Whether this is the newest acceptance that the ledgers name. */
function isNewest(one: Pick<Accepted, "number" | "sha256">, newest: Newest): boolean {
  const number = one.number ?? 0;
  return number === newest.number && isSame(one, newest);
}

function isSame(one: { sha256: string }, newest: Newest): boolean {
  return newest.number === 0 || one.sha256 === newest.sha256;
}

function withoutBase({ base: _, ...accepted }: Accepted): Omit<Accepted, "base"> {
  return accepted;
}
