import { Command, Option } from "@commander-js/extra-typings";
import { type Action, ActionStatus, Execution } from "../../server/actions/schema.ts";
import { Risk } from "../../server/risk/schema.ts";
import { Time } from "../../server/audit/schema.ts";
import { unwrap } from "../../server/client.ts";
import { actionTable } from "../actions/table.ts";
import { type Connection, openConnection } from "../daemon/connect.ts";
import { listenToEvents } from "../daemon/events.ts";
import { sayUnread } from "../daemon/unread.ts";
import type { Io } from "../io.ts";
import { print, printJson } from "../terminal/output.ts";
import { countBetween, matching, TIME_FORMAT } from "../options.ts";
import { describeRollbacks } from "../actions/rollback.ts";
import { visibleJson } from "../terminal/visible.ts";
import { sayStepBacks, witness } from "../witness/witness.ts";

/** `gate log`: the actions of agents and their results. */
export function createCommand(io: Io) {
  return new Command("log")
    .description("List the actions of agents and their results, newest first.")
    .argument("[words...]", "only actions whose path, command or reason contains these words")
    .option("-n, --limit <count>", "list this many, at most 500", countBetween(1, 500), 20)
    .option("-f, --follow", "list the oldest first and keep printing new actions until Ctrl-C")
    .option("--project <id>", "only this project (default: all projects)")
    .addOption(new Option("--status <status>", "only this status").choices(ActionStatus.options))
    .addOption(
      new Option("--execution <state>", "only this state of execution").choices(Execution.options),
    )
    .addOption(
      new Option("--risk <level>", "only this level of risk").choices(Risk.shape.level.options),
    )
    .option("--agent <name>", "only this agent")
    .option("--tool <name>", "only this tool, such as write_file")
    .option("--session <id>", "only this session")
    .option("--path <path>", "only this path")
    .option("--by <name>", "only actions that this reviewer decided, or policy")
    .option(
      "--from <time>",
      `only actions submitted at this time or later: ${TIME_FORMAT}`,
      matching(Time),
    )
    .option(
      "--to <time>",
      `only actions submitted before this time: ${TIME_FORMAT}`,
      matching(Time),
    )
    .option("--json", "print JSON; with --follow one object a line")
    .addHelpText("after", HELP)
    .action(async (words, { limit, json, follow, session, by, ...filters }) => {
      const q = words.length > 0 ? { q: words.join(" ") } : {};
      const named = { ...q, ...session && { session_id: session }, ...by && { decided_by: by } };
      const query = { ...filters, ...named } as Record<string, string>;
      const connection = await openConnection(io, { scope: "viewer" });
      if (follow) return await followLog(io, connection, query, { limit, json });
      const items = await listActions(connection, { ...query, limit: String(limit) });
      const about = [...filters.project ? [filters.project] : [], ...items.map(projectOf)];
      sayStepBacks(io, await witness(io, connection, about));
      const where = filters.project ? "" : await sayUnread(io, connection);
      if (json) return printJson(io, items);
      if (items.length > 0) await printTable(io, connection, items);
      else print(io, `There are no such actions${where}.`);
    });
}

function projectOf({ project_id }: Action): string {
  return project_id;
}

async function printTable(io: Io, connection: Connection, items: Action[]): Promise<void> {
  const described = await describeRollbacks(connection, items);
  print(io, actionTable(io, items, { now: Date.now(), described }));
}

/** Prints each action once, when it is submitted; ends when the daemon ends, or at a signal. */
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
    // Listen before the first request, so that no action is missed between the two.
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

/** The actions with a later id, oldest first; ids grow with time. */
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
