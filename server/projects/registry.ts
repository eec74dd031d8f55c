import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../environment.ts";
import type { Database } from "../db/database.ts";
import { REGISTRY_MIGRATIONS } from "../db/registry_migrations.ts";
import { openChecked } from "../db/health.ts";
import type { Ledger, Statement } from "../db/ledger.ts";
import { GateError } from "../errors.ts";
import { prefixOf } from "../events/prefix.ts";
import { noteAction } from "../events/store.ts";
import { type Identity } from "./identity.ts";
import { rebuildRegistry } from "./rebuild.ts";
import { isSameRepository } from "./same_repository.ts";
import {
  findIdAfter,
  findRegistered,
  findTwin,
  insertProject,
  insertRoot,
  listByPrefix,
  listRegistered,
  type Registered,
  removeRoot,
  removeRoots,
  setAwake,
  setIndexed,
} from "./store.ts";

/** Which projects this machine knows, and where they are: `gate.db`. */
export class Registry {
  readonly database: Database;
  readonly #now: () => number;
  /** As they stand in the database, which this process alone may write. */
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
        log("warn", "the registry was lost: made anew from the ledgers", { moved_to });
      }
    }
    return new Registry(database, now);
  }

  list(): Promise<Registered[]> {
    return listRegistered(this.database);
  }

  /** Where each project is, read once for as long as nothing changes. */
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

  find(id: string): Promise<Registered | null> {
    return findRegistered(this.database, id);
  }

  /**
   * Adds the project, or the folder to the project of that id. @throws GateError `conflict` when
   * another folder, which is no checkout of the same repository, has the id
   */
  async register({ id, name, root }: Identity): Promise<Registered> {
    const at = new Date(this.#now()).toISOString();
    const known = await this.find(id);
    const gone = known?.roots.filter((other) => !existsSync(other)) ?? [];
    if (!known) await this.#refuseTwin(id);
    else refuseStranger(id, root, known.roots.filter((other) => !gone.includes(other)));
    await this.database.batch([
      insertProject(id, name, at),
      ...gone.map((other) => removeRoot(id, other)),
      insertRoot(id, root, at),
    ]).finally(() => this.#roots = null);
    return (await this.find(id))!;
  }

  /** Forgets the project; its ledger stays and is found again when it is registered again. */
  async remove(id: string): Promise<void> {
    await this.database.batch([removeRoots(id)]).finally(() => this.#roots = null);
  }

  /** The id names a folder, and many file systems take "A" and "a" for the same. */
  async #refuseTwin(id: string): Promise<void> {
    const twin = await findTwin(this.database, id);
    if (twin === null) return;
    const message = `Cannot register "${id}": it differs from "${twin}" only in upper and lower ` +
      'case; give one of them another "id" in its gate.config.json';
    throw new GateError("conflict", message);
  }

  /** Notes that the project must be opened at the next start. */
  async setAwake(id: string, isAwake: boolean): Promise<void> {
    await this.database.batch([setAwake(id, isAwake)]);
  }

  /** The projects in which the action of that id may be. */
  listByAction(id: string): Promise<string[]> {
    return listByPrefix(this.database, prefixOf(id));
  }

  /** Notes when the actions were asked for that a ledger holds already; done once for each. */
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
}

function refuseStranger(id: string, root: string, present: string[]): void {
  if (present.length === 0 || present.includes(root)) return;
  if (present.some((other) => isSameRepository(other, root))) return;
  const message =
    `Cannot register "${root}": the id "${id}" belongs to "${present[0]}", which is ` +
    'no checkout of the same repository; give one of them another "id" in its gate.config.json';
  throw new GateError("conflict", message, { fields: { roots: present } });
}
