import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../environment.ts";
import type { Database } from "../db/database.ts";
import { REGISTRY_MIGRATIONS } from "../db/registry_migrations.ts";
import { openChecked } from "../db/health.ts";
import type { Ledger, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import type { ProofRecord } from "../proof/schema.ts";
import { noteAction, prefixOf } from "../events/store.ts";
import { MACHINE_ID } from "../constants.ts";
import { type Identity, isSameRepository } from "./identity.ts";
import { MACHINE_NAME } from "./machine.ts";
import { rebuildRegistry } from "./rebuild.ts";
import {
  findIdAfter,
  findRegistered,
  findTwin,
  insertProject,
  insertRoot,
  listByPrefix,
  listRegistered,
  listRootProofs,
  type Registered,
  removeRoot,
  removeRoots,
  setAwake,
  setIndexed,
} from "./store.ts";

/** The projects of this machine and their folders, in `gate.db`. */
export class Registry {
  readonly database: Database;
  readonly #now: () => number;
  /** Which of a project's folders count; all until the daemon knows who decides. */
  #counted: CountRoots = (_, roots) => Promise.resolve(roots);
  /** A cache of the roots. Only this process writes the database. */
  #roots: Promise<{ id: string; roots: string[] }[]> | null = null;

  private constructor(database: Database, now: () => number) {
    this.database = database;
    this.#now = now;
  }

  static async open({ home, now, log }: Environment): Promise<Registry> {
    const path = join(home, "gate.db");
    const isThere = existsSync(path);
    const { database, moved_to } = await openChecked(path, {
      migrations: REGISTRY_MIGRATIONS,
      now,
    });
    if (moved_to || !isThere) {
      const known = await rebuildRegistry(home, { at: new Date(now()).toISOString(), log });
      if (known.length > 0) {
        await database.batch(known);
        log("warn", "the registry was lost and is restored from the ledgers", { moved_to });
      }
    }
    return new Registry(database, now);
  }

  /** From now on only the folders count that `counted` returns. */
  countRoots(counted: CountRoots): void {
    this.#counted = counted;
    this.#roots = null;
  }

  async list(): Promise<Registered[]> {
    const all = await listRegistered(this.database);
    return await Promise.all(all.map((one) => this.#onlyCounted(one)));
  }

  /** The folders of each project. Cached until one changes. */
  roots(): Promise<{ id: string; roots: string[] }[]> {
    this.#roots ??= this.list().then(
      (all) => all.map(({ project_id, roots }) => ({ id: project_id, roots })),
      (error) => {
        this.#roots = null;
        throw error;
      },
    );
    return this.#roots;
  }

  async find(id: string): Promise<Registered | null> {
    const found = await findRegistered(this.database, id);
    return found && await this.#onlyCounted(found);
  }

  /**
   * Whether the folder would be one more of a project that has others. @throws GateError `conflict`
   * when the id belongs to a folder that is no checkout of the same repository
   */
  async addsRoot({ id, root }: Identity): Promise<boolean> {
    const known = await this.find(id);
    if (!known) {
      await this.#refuseTwin(id);
      return false;
    }
    const present = known.roots.filter((other) => existsSync(other));
    requireSameRepository(id, root, present);
    return present.length > 0 && !present.includes(root);
  }

  /**
   * Adds the project, or adds the folder to the project with that id, with the proof of the person
   * who asked for it. @throws GateError as `addsRoot()`
   */
  async register(identity: Identity, proof: ProofRecord | null = null): Promise<Registered> {
    const { id, name, root } = identity;
    await this.addsRoot(identity);
    const at = new Date(this.#now()).toISOString();
    const gone = (await this.find(id))?.roots.filter((other) => !existsSync(other)) ?? [];
    await this.database.batch([
      insertProject(id, name, at),
      ...gone.map((other) => removeRoot(id, other)),
      insertRoot(id, root, { at, proof }),
    ]).finally(() => this.#roots = null);
    return (await this.find(id))!;
  }

  /** Adds the machine's own ledger, which has no folder. Idempotent. */
  async addMachine(): Promise<Registered> {
    const at = new Date(this.#now()).toISOString();
    await this.database.batch([
      insertProject(MACHINE_ID, MACHINE_NAME, at),
      removeRoots(MACHINE_ID),
    ])
      .finally(() => this.#roots = null);
    return (await this.find(MACHINE_ID))!;
  }

  /** Forgets the project. Its ledger stays, and a new registration finds it again. */
  async remove(id: string): Promise<void> {
    await this.database.batch([removeRoots(id)]).finally(() => this.#roots = null);
  }

  /** @throws GateError, because the id names a folder and many file systems ignore case */
  async #refuseTwin(id: string): Promise<void> {
    const twin = await findTwin(this.database, id);
    if (twin === null) return;
    const message = `Cannot register "${id}": it differs from "${twin}" only in upper and lower ` +
      'case; give one of them another "id" in its gate.config.json';
    throw new GateError("conflict", message);
  }

  /** Records whether the next start must open the project. */
  async setAwake(id: string, isAwake: boolean): Promise<void> {
    await this.database.batch([setAwake(id, isAwake)]);
  }

  /** The projects that may hold the action with that id. */
  listByAction(id: string): Promise<string[]> {
    return listByPrefix(this.database, prefixOf(id));
  }

  /** Adds the existing actions of a ledger to the index, once for each ledger. */
  async index(ledger: Ledger): Promise<void> {
    const { project_id } = ledger;
    const notes: Statement[] = [];
    for (let id = await findIdAfter(ledger, ""); id !== null;) {
      notes.push(noteAction(project_id, prefixOf(id)));
      id = await findIdAfter(ledger, `${prefixOf(id)}~`);
    }
    await this.database.batch([...notes, setIndexed(project_id)]);
  }

  close(): Promise<void> {
    return this.database.close();
  }

  async #onlyCounted(one: Registered): Promise<Registered> {
    if (one.roots.length < 2) return one;
    const proofs = await listRootProofs(this.database, one.project_id);
    return { ...one, roots: await this.#counted(one.project_id, one.roots, proofs) };
  }
}

/** The folders of a project that count, of those in `gate.db`. `proofs` are as kept there, by folder. */
export type CountRoots = (
  project_id: string,
  roots: string[],
  proofs: ReadonlyMap<string, string | null>,
) => Promise<string[]>;

function requireSameRepository(id: string, root: string, present: string[]): void {
  if (present.length === 0 || present.includes(root)) return;
  if (present.some((other) => isSameRepository(other, root))) return;
  const message =
    `Cannot register "${root}": the id "${id}" belongs to "${present[0]}", which is ` +
    'no checkout of the same repository; give one of them another "id" in its gate.config.json';
  throw new GateError("conflict", message, { fields: { roots: present } });
}
