import type { Result, Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";

/** After so many different paths it begins anew. */
const MOST_KNOWN = 200;
/** Longer paths hold the name of one thing, which seldom comes twice. */
const MAX_LENGTH = 100;

/** Hono's router, which remembers what matched: the search takes longer than some routes. */
export class RememberingRouter<T> implements Router<T> {
  readonly name = "RememberingRouter";
  readonly #routers = new SmartRouter<T>({ routers: [new RegExpRouter(), new TrieRouter()] });
  readonly #known = new Map<string, Result<T>>();

  add(method: string, path: string, handler: T): void {
    this.#known.clear();
    this.#routers.add(method, path, handler);
  }

  match(method: string, path: string): Result<T> {
    if (path.length > MAX_LENGTH) return this.#routers.match(method, path);
    const key = `${method} ${path}`;
    const known = this.#known.get(key);
    if (known) return known;
    const found = this.#routers.match(method, path);
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(key, found);
    return found;
  }
}
