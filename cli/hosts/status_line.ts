import type { AgentHost } from "../../server/hosts/host.ts";
import { CLAUDE_CODE } from "../../server/hosts/claude_code.ts";
import { isHooked } from "../../server/hosts/hosts.ts";
import { backUp, editConfig, readConfig, readText, writeText } from "../config_file.ts";
import { deleteLeftOver, noteCreated } from "./created.ts";
import { openConfig } from "./edit/config_file.ts";
import { hookFile } from "./enforce.ts";
import { quote } from "../../server/shown/quote.ts";
import type { Machine } from "./machine.ts";
import type { Launch } from "./ours.ts";

/** The change to the status line of Claude Code. No other place tells its rate limits. */
export interface StatusLineReport {
  host: string;
  file: string;
  outcome: "added" | "removed" | "unchanged";
  backup: string | null;
}

/** The only host that tells a status line its rate limits. */
const HOST: AgentHost = CLAUDE_CODE;

/**
 * Puts gate in front of the status line of Claude Code, which gate then calls, or takes gate out again.
 * @throws CliError when the settings cannot be edited
 */
export function setStatusLine(
  { machine, launch, home, install, dryRun }: {
    machine: Machine;
    launch: Launch;
    home: string;
    install: boolean;
    dryRun: boolean;
  },
): StatusLineReport {
  if (!isHooked(HOST)) throw new Error("Claude Code has settings");
  const { path: file } = hookFile(HOST, machine);
  const text = readText(file);
  const report = { host: HOST.id, file, backup: null };
  const { statusLine } = text === null ? {} : readConfig(text, file);
  const present = commandOf(statusLine);
  const before = present === null ? null : innerOf(present);
  const isOurs = before !== undefined && present !== null;
  if (install === isOurs) return { ...report, outcome: "unchanged" };
  const command = install ? lineOf(launch, present) : before ?? null;
  const wanted = command === null
    ? [{ path: ["statusLine"], value: undefined }]
    : typeof statusLine === "object" && statusLine !== null
    ? [{ path: ["statusLine", "command"], value: command }]
    : [{ path: ["statusLine"], value: { type: "command", command } }];
  const outcome = install ? "added" as const : "removed" as const;
  if (dryRun) return { ...report, outcome };
  const backup = text === null ? null : backUp(file, home);
  writeText(file, editConfig(text ?? "{}\n", wanted), 0o600);
  if (text === null) noteCreated(home, openConfig(file).real);
  if (!install) deleteLeftOver(file, home, HOST.hooks.settings);
  return { ...report, outcome, backup };
}

function commandOf(value: unknown): string | null {
  const { command } = (value ?? {}) as { command?: unknown };
  return typeof command === "string" ? command : null;
}

/** The words by which Claude Code starts gate; gate then starts the line that was there before. */
function lineOf({ command, args, env }: Launch, before: string | null): string {
  const names = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`);
  const words = [command, ...args.slice(0, -1), "statusline"].map(quote);
  return [...names, ...words, ...before === null ? [] : ["--then", quote(before)]].join(" ");
}

/** The line behind gate's; null if there is none, undefined if the line is not gate's. */
function innerOf(line: string): string | null | undefined {
  const found = /(?:^|\s)statusline(?: --then (.*))?$/s.exec(line);
  if (!found || !/gate|main\.ts/.test(line)) return undefined;
  const [, then] = found;
  if (then === undefined) return null;
  return then.startsWith("'") ? then.slice(1, -1).replaceAll(`'\\''`, "'") : then;
}
