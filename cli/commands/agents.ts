import { Command } from "@commander-js/extra-typings";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, unwrap } from "../../server/client.ts";
import type {
  AgentSession,
  AgentSnapshot,
  OrphanPort,
  RateLimits,
} from "../../server/agent_monitor/schema.ts";
import { openConnection } from "../daemon/connect.ts";
import { CliError, EXIT } from "../errors.ts";
import { type Io, isInteractive } from "../io.ts";
import { countBetween, examples } from "../options.ts";
import {
  ago,
  columnWidths,
  count,
  paint,
  print,
  printJson,
  say,
  table,
} from "../terminal/output.ts";
import { isConfirmed, withSpinner } from "../terminal/prompts.ts";
import { fitVisible, visibleLine } from "../terminal/visible.ts";
import { fit } from "../terminal/width.ts";

const ROUND_MS = 2_000;
/** Clears the terminal. */
const CLEARED = "\x1b[H\x1b[2J\x1b[3J";

/** Commander's error for an unknown command, which its types leave out. */
interface Group {
  unknownCommand(): never;
}

/** `gate agents`: the coding agents of this machine, their limits and the ports that they left. */
export function createCommand(io: Io) {
  const agents = new Command("agents")
    .description(
      "Show the coding agents of this machine: who works, who waits for you, what they left behind.",
    )
    .option("--project <id>", "only the sessions of this project")
    .option("--watch", "show them again every two seconds, until Ctrl-C")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples("gate agents", "gate agents --watch", "gate agents terminate 4711"),
    )
    // A group with an action of its own takes a mistyped command for an argument.
    .argument("[command]", "one of the commands below; without one it shows the agents")
    .action(async (mistyped, { project, watch, json }, command) => {
      if (mistyped !== undefined) (command as unknown as Group).unknownCommand();
      const { client } = await openConnection(io, { scope: "viewer" });
      const read = async () => {
        const snapshot = await unwrap(client.api["agent-monitor"].snapshot.$get());
        return { ...snapshot, sessions: await sessionsOf(client, snapshot, project) };
      };
      const show = (snapshot: AgentSnapshot, before = "") => {
        io.stdout.write(before);
        if (json) printJson(io, snapshot);
        else print(io, page(io, snapshot));
      };
      // The first look reads the records of every agent.
      show(await withSpinner(io, "Looking for coding agents", read));
      if (!watch) return;
      const stop = new AbortController();
      const unsubscribe = io.onSignal(() => stop.abort());
      while (!stop.signal.aborted) {
        await sleep(ROUND_MS, undefined, { signal: stop.signal }).catch(() => {});
        if (stop.signal.aborted) break;
        show(await read(), io.stdout.isTTY ? CLEARED : "");
      }
      unsubscribe();
    });
  agents.command("history").description("List the sessions that have ended, newest first.")
    .option("-n, --limit <count>", "list this many, at most 500", countBetween(1, 500), 20)
    .option("--agent <platform>", "only this agent, such as codex")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate agents history --agent codex"))
    .action(async ({ limit, agent, json }) => {
      const { client } = await openConnection(io, { scope: "viewer" });
      const query = { limit: String(limit), agent };
      const { items } = await unwrap(client.api["agent-monitor"].history.$get({ query }));
      if (json) return printJson(io, items);
      const rows = items.map((one) => [
        fitVisible(visibleLine(one.session_id), 36),
        ago(one.ended_at, Date.now()).padStart(4),
        one.name,
        one.end_reason,
        one.tokens ? `${short(one.tokens.total)} tokens` : "",
        one.cost_usd === null ? "" : `$${one.cost_usd.toFixed(2)}`,
        visibleLine(one.project_id ?? one.cwd ?? ""),
      ]);
      print(io, rows.length > 0 ? table(rows) : "No session has ended yet.");
    });
  agents.command("terminate").description("End a process that an agent's session left behind.")
    .argument("<pid>", "the process id, from gate agents")
    .option("--yes", "do not ask")
    .option("--json", "print JSON")
    .addHelpText("after", examples("gate agents terminate 4711"))
    .action(async (pid, { yes, json }) => await terminate(io, pid, { yes, json }));
  return agents;
}

async function terminate(
  io: Io,
  pid: string,
  { yes, json }: { yes?: true; json?: true },
): Promise<void> {
  const { client } = await openConnection(io, { scope: "reviewer" });
  const monitor = client.api["agent-monitor"].ports;
  const { orphan_ports } = await unwrap(monitor.$get());
  const row = orphan_ports.find((one) => String(one.pid) === pid);
  if (!row) {
    throw new CliError(
      `Cannot terminate process ${visibleLine(pid)}: no agent's session left it behind`,
      { next: "gate agents" },
    );
  }
  if (!yes) {
    if (!isInteractive(io)) {
      throw new CliError("Cannot ask for a confirmation: there is no terminal", {
        next: `gate agents terminate ${row.pid} --yes`,
        exit: EXIT.usage,
      });
    }
    const ports = row.ports.map(({ port }) => port).join(", ");
    const question = `End process ${row.pid} on port ${ports}: ${visibleLine(row.command)}?`;
    if (!await isConfirmed(io, question)) return say(io, "Nothing was ended.");
  }
  const { start_time } = row;
  const answer = await unwrap(
    monitor[":pid"].$delete({ param: { pid }, json: { start_time } }),
  );
  if (json) return printJson(io, answer);
  const { outcome, still_listening_pids: others } = answer;
  print(io, `Process ${row.pid}: ${outcome.replaceAll("_", " ")}.`);
  if (others.length > 0) say(io, `On the same ports there are still: ${others.join(", ")}`);
}

async function sessionsOf(
  client: Client,
  snapshot: AgentSnapshot,
  project: string | undefined,
): Promise<AgentSession[]> {
  if (project === undefined) return snapshot.sessions;
  const query = { project };
  const { items } = await unwrap(client.api["agent-monitor"].sessions.$get({ query }));
  return items;
}

const ORDER = [
  "waiting_approval",
  "waiting_input",
  "rate_limited",
  "working",
  "idle",
  "unknown",
] as const;

const WORDS: Record<AgentSession["status"], string> = {
  waiting_approval: "waits for approval",
  waiting_input: "waits for an answer",
  rate_limited: "rate limited",
  working: "works",
  idle: "idle",
  unknown: "unknown",
  done: "ended",
};

function page(io: Io, { sessions, orphan_ports, rate_limits }: AgentSnapshot): string {
  const sorted = sessions.toSorted((a, b) => rankOf(a) - rankOf(b));
  const known = rate_limits.filter(({ status }) => status === "known");
  return [
    sorted.length === 0 ? "No coding agent runs." : sessionLines(io, sorted),
    ...known.length === 0 ? [] : ["", "Rate limits:", table(known.flatMap(limitRows))],
    ...orphan_ports.length === 0 ? [] : [
      "",
      `${count(orphan_ports.length, "process")} left behind:`,
      table(orphan_ports.map((orphan) => orphanRow(io, orphan))),
      "  gate agents terminate <pid>",
    ],
  ].join("\n");
}

/** The columns of a session. A narrow terminal shows the first of them that fit, in their order. */
const COLUMNS = ["name", "status", "place", "age", "tokens", "ports", "task", "context", "cost"];
const BY_WEIGHT = ["name", "status", "place", "age", "task", "ports", "tokens", "context", "cost"];

/** One line for each session, and below it the command that shows its held action. */
function sessionLines(io: Io, sessions: AgentSession[]): string {
  const rows = sessions.map((session) => sessionRow(io, session));
  const room = columnsOf(io);
  let shown = BY_WEIGHT;
  const cells = () =>
    rows.map((row) => COLUMNS.flatMap((name) => shown.includes(name) ? row[name]! : []));
  while (shown.length > 4 && widthOf(cells()) > room) shown = shown.slice(0, -1);
  return table(cells()).split("\n").flatMap((line, at) => {
    const { held, title } = sessions[at]!;
    return [
      line,
      ...title === null ? [] : [`  asked: ${fitVisible(visibleLine(title), room - 9)}`],
      ...held === null ? [] : [`  gate show ${held.action_id}`],
    ];
  }).join("\n");
}

function sessionRow(io: Io, session: AgentSession): Record<string, string> {
  const { status, stale, context, tokens, cost_usd, current_task } = session;
  const word = `${WORDS[status]}${stale ? "?" : ""}`;
  const isWaiting = status === "waiting_approval" || status === "waiting_input";
  return {
    name: session.name,
    status: isWaiting ? paint(io, "yellow", word) : word,
    place: fitVisible(visibleLine(session.project_id ?? session.cwd ?? ""), placeWidth(io)),
    age: session.last_activity_at === null
      ? ""
      : ago(session.last_activity_at, Date.now()).padStart(4),
    tokens: tokens === null
      ? ""
      : `${session.tokens_complete ? "" : "≥ "}${short(tokens.total)} tokens`,
    ports: fit([...new Set(session.ports.map(({ port }) => `:${port}`))].join(" "), 24),
    task: fitVisible(visibleLine(current_task ?? ""), 24),
    context: context?.percent == null ? "" : `context ${context.percent} %`,
    cost: cost_usd === null ? "" : `$${cost_usd.toFixed(2)}`,
  };
}

/** Of 80 columns the place leaves room for name, state and age. */
function placeWidth(io: Io): number {
  return Math.max(12, Math.min(32, columnsOf(io) - 44));
}

const MOST_COMMAND = 60;

function orphanRow(io: Io, { pid, ports, command, agent }: OrphanPort): string[] {
  const row = [
    `  ${pid}`,
    fit(ports.map(({ port }) => port).join(", "), 24),
    "",
    `left by ${agent}`,
  ];
  const room = Math.max(16, Math.min(MOST_COMMAND, columnsOf(io) - widthOf([row])));
  return row.with(2, fitVisible(visibleLine(command), room));
}

function limitRows({ name, limits, stale }: RateLimits): string[][] {
  return limits.map(({ id, window_minutes, used_percent, resets_at }) => [
    `  ${name}`,
    window_minutes === null ? visibleLine(id) : spanOf(window_minutes),
    used_percent === null ? "reset since" : `${used_percent} % used`,
    resets_at === null ? "" : `resets in ${ago(new Date().toISOString(), Date.parse(resets_at))}`,
    stale ? "may be old" : "",
  ]);
}

/** The width of a terminal; without one nothing is left out. */
function columnsOf({ stdout: { isTTY, columns } }: Io): number {
  return isTTY ? columns ?? 80 : Infinity;
}

function widthOf(rows: string[][]): number {
  const widths = columnWidths(rows);
  return widths.reduce((sum, width) => sum + width + 2, -2);
}

function spanOf(minutes: number): string {
  return minutes % 1_440 === 0 ? `${minutes / 1_440} d` : `${Math.round(minutes / 60)} h`;
}

function rankOf({ status }: AgentSession): number {
  const at = (ORDER as readonly string[]).indexOf(status);
  return at < 0 ? ORDER.length : at;
}

function short(n: number): string {
  if (n < 10_000) return String(n);
  return n < 1_000_000 ? `${Math.round(n / 1_000)} k` : `${(n / 1_000_000).toFixed(1)} M`;
}
