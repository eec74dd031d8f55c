import type { Action } from "../../server/actions/schema.ts";
import { type Client, unwrap } from "../../server/client.ts";
import { CliError, EXIT } from "../errors.ts";

const FULL_ID = 36;
const PAGES = 40;

/** Reads what was typed as the beginning of an action's id. @throws CliError */
export function parseIdPrefix(typed: string): string {
  return readIdPrefix(typed, "an action id", "gate pending");
}

/** Reads what was typed as the beginning of an id; `next` lists those there are. @throws CliError */
export function readIdPrefix(typed: string, what: string, next: string): string {
  const prefix = typed.toLowerCase();
  if (/^[0-9a-f-]{4,36}$/.test(prefix)) return prefix;
  throw new CliError(`Cannot read "${typed}" as ${what}: it takes 4 to 36 hex digits`, {
    next,
    exit: EXIT.usage,
  });
}

/**
 * The action whose id starts so: among what is held first, else among all of every project.
 * @throws CliError when none does, or more than one
 */
export async function findAction(client: Client, prefix: string): Promise<Action> {
  const held = await unwrap(client.api.global.approvals.pending.$get({ query: {} }));
  return pick(held.items, prefix) ?? pick(await search(client, prefix), prefix) ??
    notFound(prefix);
}

/** Newest first, until the ids are older than the prefix can be. */
async function search(client: Client, prefix: string): Promise<Action[]> {
  const found: Action[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { items, next_cursor } = await unwrap(
      client.api.global.actions.$get({ query: { limit: "500", ...(cursor ? { cursor } : {}) } }),
    );
    found.push(...items.filter((action) => action.id.startsWith(prefix)));
    if (prefix.length === FULL_ID && found.length === 1) break;
    const oldest = items.at(-1)?.id.slice(0, prefix.length);
    // Ids begin with the time, so a page that has passed the prefix ends the search.
    if (!next_cursor || (oldest && oldest < prefix)) break;
    cursor = next_cursor;
  }
  return found;
}

function pick(actions: Action[], prefix: string): Action | null {
  const matching = actions.filter((action) => action.id.startsWith(prefix));
  if (matching.length > 1) {
    const ids = matching.slice(0, 5).map((action) => `\n  ${action.id}`).join("");
    throw new CliError(`"${prefix}" is the beginning of ${matching.length} actions:${ids}`, {
      next: "the same command with more of the id",
    });
  }
  return matching[0] ?? null;
}

function notFound(prefix: string): never {
  throw new CliError(`No action's id begins with "${prefix}"`, { next: "gate log" });
}
