import { MACHINE_ID } from "../constants.ts";
import { sha256 } from "../db/chain.ts";
import type { Database } from "../db/database.ts";
import { createGrowingCache } from "../growing_cache.ts";
import { findHome, insertHome } from "./homes_store.ts";

const MAX_CACHED = 10_000;
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** The first project of each host's session, so that a later `cd` changes no policy. */
export class Homes {
  readonly #registry: Database;
  readonly #now: () => number;
  readonly #known = createGrowingCache<string>(MAX_CACHED);

  constructor(registry: Database, now: () => number) {
    this.#registry = registry;
    this.#now = now;
  }

  /**
   * The project that the session belongs to: the given one at its first call. A folder of no project
   * binds nothing, and neither does a host that names no session.
   */
  async bind(host: string, session: string, project_id: string): Promise<string> {
    if (session === "") return project_id;
    const key = sha256(JSON.stringify([host, session]));
    const known = this.#known.get(key) ?? await findHome(this.#registry, key);
    const home = known ?? await this.#first(key, project_id);
    if (home !== MACHINE_ID) this.#known.set(key, home);
    return home;
  }

  async #first(key: string, project_id: string): Promise<string> {
    if (project_id === MACHINE_ID) return project_id;
    const at = this.#now();
    const before = new Date(at - KEPT_MS).toISOString();
    await this.#registry.batch(insertHome(key, project_id, new Date(at).toISOString(), before));
    return await findHome(this.#registry, key) ?? project_id;
  }
}
