import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../context.ts";
import type { Database } from "../db/database.ts";
import { REGISTRY_MIGRATIONS } from "../db/registry_migrations.ts";
import { openSound } from "../db/sound.ts";
import { GateError } from "../errors.ts";
import { type Identity } from "./identity.ts";
import { rebuildRegistry } from "./rebuild.ts";
import { isSameRepository } from "./same_repository.ts";
import {
  findRegistered,
  findTwin,
  insertProject,
  insertRoot,
  listRegistered,
  type Registered,
  removeRoot,
  removeRoots,
  setAwake,
} from "./store.ts";

/** Which projects this machine knows, and where they are: `gate.db`. */
export class Registry {
  readonly database: Database;
  readonly #now: () => number;

  private constructor(database: Database, now: () => number) {
    this.database = database;
    this.#now = now;
  }

  static async open({ home, now }: Environment): Promise<Registry> {
    const path = join(home, "gate.db");
    const { database, moved_to } = await openSound(path, { migrations: REGISTRY_MIGRATIONS, now });
    if (moved_to) {
      const known = await rebuildRegistry(home, new Date(now()).toISOString());
      if (known.length > 0) await database.batch(known);
    }
    return new Registry(database, now);
  }

  list(): Promise<Registered[]> {
    return listRegistered(this.database);
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
    ]);
    return (await this.find(id))!;
  }

  /** Forgets the project; its ledger stays and is found again when it is registered again. */
  async remove(id: string): Promise<void> {
    await this.database.batch([removeRoots(id)]);
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
