import type { Action } from "../../server/actions/schema.ts";
import { type Client, unwrap } from "../../server/client.ts";
import { type Connection, scopedClient } from "../daemon/connect.ts";
import { unreadProjects } from "../daemon/unread.ts";
import { CliError, EXIT } from "../errors.ts";
import { fitVisible, visibleLine } from "../terminal/visible.ts";
import { summarize } from "./view.ts";

const FULL_ID = 36;
const PAGES = 40;
const MOST_SHOWN = 5;

/** Checks the typed beginning of the id of any action. @throws CliError */
export function parseIdPrefix(typed: string): string {
  return readIdPrefix(typed, "an action id", "gate log");
}

/** Collects the ids of an argument that takes several held actions. @throws CliError */
export function collectIdPrefix(typed: string, before: string[] = []): string[] {
  return [...before, readIdPrefix(typed, "an action id", "gate pending")];
}

/** Collects the digests of a repeated `--digest`, in the order of the ids. */
export function collectDigest(typed: string, before: string[] = []): string[] {
  return [...before, typed];
}

/** Checks the typed beginning of an id; `next` is the command that lists ids. @throws CliError */
export function readIdPrefix(typed: string, what: string, next: string): string {
  const prefix = typed.toLowerCase();
  if (/^[0-9a-f-]{4,36}$/.test(prefix)) return prefix;
  throw new CliError(`Cannot read "${typed}" as ${what}: it takes 4 to 36 hex digits`, {
    next,
    exit: EXIT.usage,
  });
}

/** Finds an action by the beginning of its id; returns it with the client and route for it. */
export async function openAction(connection: Connection, prefix: string) {
  const found = await findAction(connection.client, prefix);
  const client = scopedClient(connection, found.project_id);
  return { found, client, one: client.api.actions[":id"], param: { id: found.id } };
}

/**
 * The action whose id starts with `prefix`: searches the held actions first, then all actions.
 * @throws CliError if no action or more than one matches
 */
async function findAction(client: Client, prefix: string): Promise<Action> {
  const held = await unwrap(client.api.global.approvals.pending.$get({ query: {} }));
  return pick(held.items, prefix, "ids of held actions") ??
    pick(await search(client, prefix), prefix, "ids") ?? await notFound(client, prefix);
}

/** Searches from the newest action to ids that are older than the prefix. */
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
    // Ids begin with their time, so no later page can match.
    if (!next_cursor || (oldest && oldest < prefix)) break;
    cursor = next_cursor;
  }
  return found;
}

function pick(actions: Action[], prefix: string, what: string): Action | null {
  const matching = actions.filter((action) => action.id.startsWith(prefix));
  if (matching.length > 1) {
    const rows = matching.slice(0, MOST_SHOWN).map((one) =>
      `\n  ${one.id}  ${fitVisible(`${visibleLine(one.tool)} ${summarize(one)}`, 36)}`
    );
    const rest = matching.length - MOST_SHOWN;
    const more = rest > 0 ? `\n  and ${rest} more` : "";
    const why = `${matching.length} ${what} begin with it:${rows.join("")}${more}`;
    throw new CliError(`Cannot choose an action by "${prefix}": ${why}`, {
      next: "the same command with more digits of the id",
    });
  }
  return matching[0] ?? null;
}

async function notFound(client: Client, prefix: string): Promise<never> {
  const unread = unreadProjects(await unwrap(client.api.daemon.status.$get()));
  const message = `Cannot find an action: no id begins with "${prefix}"`;
  if (unread.length === 0) throw new CliError(message, { next: "gate log" });
  const lacking = unread.map(visibleLine).join(", ");
  throw new CliError(`${message}, and the actions of ${lacking} cannot be read now`, {
    next: "gate status",
  });
}
