import { Command, Option } from "@commander-js/extra-typings";
import { type Action, ActionStatus, Execution, Risk } from "../../server/actions/schema.ts";
import { Time } from "../../server/audit/schema.ts";
import { unwrap } from "../../server/client.ts";
import { actionTable } from "../actions/view.ts";
import { type Connection, openConnection } from "../daemon/connect.ts";
import { listenToEvents } from "../daemon/events.ts";
import type { Io } from "../io.ts";
import { print, printJson } from "../terminal/output.ts";
import { countBetween, matching } from "../options.ts";
import { describeRollbacks } from "../actions/rollback_words.ts";
import { visibleJson } from "../terminal/visible.ts";

/** `gate log`: what agents did and what came of it. */
export function createCommand(io: Io) {
  return new Command("log")
    .description("List what agents asked for and what came of it, newest first.")
    .argument("[words...]", "that stand in its path, command or reasons")
    .option("-n, --limit <count>", "how many, at most 500", countBetween(1, 500), 20)
    .option("-f, --follow", "go on as more comes, oldest first")
    .option("--project <id>", "of this project only")
    .addOption(new Option("--status <status>", "of this status").choices(ActionStatus.options))
    .addOption(new Option("--execution <state>", "that got so far").choices(Execution.options))
    .addOption(new Option("--risk <level>", "of this risk").choices(Risk.shape.level.options))
    .option("--agent <name>", "of this agent")
    .option("--tool <name>", "of this tool")
    .option("--session <id>", "of this session")
    .option("--path <path>", "of this path")
    .option("--by <name>", "decided by this reviewer, or by policy")
    .option("--from <time>", "asked for at this time or later", matching(Time))
    .option("--to <time>", "asked for before this time", matching(Time))
    .option("--json", "print JSON; with --follow one object a line")
    .addHelpText("after", HELP)
    .action(async (words, { limit, json, follow, session, by, ...filters }) => {
      const q = words.length > 0 ? { q: words.join(" ") } : {};
      const named = { ...q, ...session && { session_id: session }, ...by && { decided_by: by } };
      const query = { ...filters, ...named } as Record<string, string>;
      const connection = await openConnection(io, { scope: "viewer" });
      if (follow) return await followLog(io, connection, query, { limit, json });
      const items = await listActions(connection, { ...query, limit: String(limit) });
      if (json) return printJson(io, items);
      if (items.length > 0) await printTable(io, connection, items);
      else print(io, "Nothing has happened yet.");
    });
}

async function printTable(io: Io, connection: Connection, items: Action[]): Promise<void> {
  const said = await describeRollbacks(connection, items);
  print(io, actionTable(io, items, { now: Date.now(), said }));
}

/** Each action once, when it is submitted; ends with the daemon or at a signal. */
async function followLog(
  io: Io,
  connection: Connection,
  query: Record<string, string>,
  { limit, json }: { limit: number; json?: boolean },
): Promise<void> {
  const stop = new AbortController();
  const forget = io.onSignal(() => stop.abort());
  const show = async (items: Action[]) => {
    for (const item of items) {
      if (json) print(io, visibleJson(item, 0));
      else await printTable(io, connection, [item]);
    }
  };
  try {
    const events = listenToEvents(connection, ["actions"], stop.signal)[Symbol.asyncIterator]();
    // Asked for before the first look: nothing can fall between the two.
    let next = events.next();
    let shown = (await listActions(connection, { ...query, limit: String(limit) })).reverse();
    await show(shown);
    for (let event = await next; !event.done; event = await next) {
      next = events.next();
      if (event.value.type !== "action.submitted") continue;
      const news = await listSince(connection, query, shown.at(-1)?.id ?? "");
      await show(news);
      if (news.length > 0) shown = news;
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    forget();
  }
}

/** Those with a later id, oldest first; ids grow with time. */
async function listSince(
  connection: Connection,
  query: Record<string, string>,
  id: string,
): Promise<Action[]> {
  const news: Action[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const at: Record<string, string> = cursor === "" ? {} : { cursor };
    const page: { items: Action[]; next_cursor: string | null } = await unwrap(
      connection.client.api.global.actions.$get({ query: { ...query, ...at, limit: "100" } }),
    );
    news.push(...page.items.filter((item) => item.id > id));
    cursor = id !== "" && page.items.every((item) => item.id > id) ? page.next_cursor : null;
  }
  return news.reverse();
}

async function listActions(
  { client }: Connection,
  query: Record<string, string>,
): Promise<Action[]> {
  return (await unwrap(client.api.global.actions.$get({ query }))).items;
}

const HELP = `
Examples:
  gate log
  gate log --status blocked -n 100
  gate log --from 2026-03-01 --to 2026-04-01T12:00:00Z
  gate log src deploy --agent codex
  gate log --follow --json | while read -r action; …
`;
