import {
  type HookedHost,
  type HookEvent,
  type HookSettings,
  timeoutOf,
} from "../../server/hosts/host.ts";
import { CliError } from "../errors.ts";
import { type ConfigFile, refuseReadOnly } from "./edit/config_file.ts";
import { type Change, editText, isRecord } from "./edit/text_editor.ts";
import { EDITORS } from "./hosts.ts";
import type { Machine } from "./machine.ts";
import type { Launch } from "./ours.ts";
import { quote } from "../../server/shown/quote.ts";

/** The change to one file after which its host asks gate, or no longer asks it. */
export interface HookPlan {
  outcome: "added" | "updated" | "removed" | "unchanged";
  after: string;
}

/** One of our hooks in a document. */
interface Found {
  path: string[];
  entry: Record<string, unknown>;
  /** The group around the hook, and whether the group holds nothing else. */
  group: Record<string, unknown> | null;
  is_alone: boolean;
}

/** One hook: keys with a fixed value, and the shortest time-out. */
interface HookEntry {
  must: Record<string, unknown>;
  at_least: Record<string, number>;
}

/** Plans a file that holds every hook of ours, each complete. @throws CliError */
export function planHooks(
  host: HookedHost,
  file: ConfigFile,
  launch: Launch,
  machine: Pick<Machine, "os">,
): HookPlan {
  const { settings } = host.hooks;
  const document = read(host, file);
  const changes: Change[] = [];
  let known = 0;
  for (const [key, value] of Object.entries(settings.frame)) {
    if (document[key] === undefined) changes.push({ path: [key], value });
  }
  for (const event of settings.events) {
    const [first, ...more] = findOurs(host, document, event.name, file.path);
    const entry = entryOf(settings, hookLine(launch, host, event, machine), event, machine);
    if (first && coversEveryTool(first)) {
      known++;
      changes.push(...changesTo(first, entry));
    } else {
      if (first) more.unshift(first);
      changes.push({ path: ["hooks", event.name, "-"], value: newHook(settings, entry) });
    }
    changes.push(...removals(more));
  }
  const ordered = withLists(document, changes);
  return finish(host, file, ordered, known > 0 ? "updated" : "added");
}

/** Plans a file without any hook of ours. @throws CliError */
export function planRemoval(host: HookedHost, file: ConfigFile): HookPlan {
  const document = read(host, file);
  const changes: Change[] = [];
  const events = isRecord(document.hooks) ? Object.keys(document.hooks) : [];
  const emptied: string[] = [];
  for (const name of events) {
    const found = findOurs(host, document, name, file.path);
    const list = (document.hooks as Record<string, unknown[]>)[name]!;
    const whole = found.filter(({ group, is_alone }) => group === null || is_alone);
    if (found.length > 0 && whole.length === list.length) emptied.push(name);
    else changes.push(...removals(found));
  }
  const isEmpty = emptied.length > 0 && emptied.length === events.length;
  if (isEmpty) changes.push({ path: ["hooks"], value: undefined });
  else changes.push(...emptied.map((name) => ({ path: ["hooks", name], value: undefined })));
  return finish(host, file, changes, "removed");
}

/** The command lines of our hooks in a file, at most one for each event. @throws CliError */
export function hookLines(host: HookedHost, file: ConfigFile): string[] {
  return linesOf(host, file).map(({ line }) => line);
}

/** Whether a hook before a tool, from an older gate, lets the tool run if gate cannot start. */
export function isUnguarded(host: HookedHost, file: ConfigFile, { os }: Pick<Machine, "os">) {
  if (os === "win32" && host.hooks.settings.shell_on_windows === null) return false;
  return linesOf(host, file).some(({ event, line }) => event.is_before && !/\bexit 2\b/.test(line));
}

function linesOf(host: HookedHost, file: ConfigFile): { event: HookEvent; line: string }[] {
  const document = read(host, file);
  return host.hooks.settings.events.flatMap((event) => {
    const [found] = findOurs(host, document, event.name, file.path);
    const line = found?.entry.command ?? found?.entry.bash ?? found?.entry.powershell;
    return typeof line === "string" ? [{ event, line }] : [];
  });
}

/**
 * The command line by which a host's shell starts `gate hook <host>`, by its absolute path. A hook
 * before a tool exits with 2 when gate cannot answer: every host blocks the tool then, and many hosts
 * let it run after another code.
 */
export function hookLine(
  { command, args, env }: Launch,
  { id, hooks }: HookedHost,
  { is_before }: HookEvent,
  { os }: Pick<Machine, "os">,
): string {
  const words = [command, ...args.slice(0, -1), "hook", id];
  if (os === "win32") {
    const shell = hooks.settings.shell_on_windows;
    const line = words.map(quotedForWindows).join(" ");
    const called = shell === "powershell" ? `& ${line}` : line;
    return is_before && shell !== null ? called + GUARDED_ON_WINDOWS[shell] : called;
  }
  const names = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`);
  const script = is_before ? GUARDED : REPORTED;
  return [...names, `/bin/sh -c '${script}' gate`, ...words.map(quote)].join(" ");
}

/*
 * Scripts for `/bin/sh`, because a host may use the user's shell. They leave the current folder,
 * because a compiled program does not start in a folder that was deleted.
 */
const GUARDED = 'cd / && "$@" && exit; [ $? = 2 ] || echo "Blocked by gate: its hook failed: $*. ' +
  'Install gate there again, or remove this hook from the settings of the agent host." >&2; exit 2';
const REPORTED = 'cd / && exec "$@"';

const GUARDED_ON_WINDOWS = {
  cmd: " || exit 2",
  powershell: "; if ($LASTEXITCODE -ne 0) { exit 2 }",
} as const;

function quotedForWindows(word: string): string {
  return /^[\w.:\\/-]+$/.test(word) ? word : `"${word}"`;
}

const PROGRAM = String
  .raw`(?:gate(?:-(?:linux|darwin|windows|win32)[\w-]*)?(?:\.exe|\.cmd)?|gate\.mjs|cli[\\/]main\.ts)`;

/** Whether a command line starts our hook of that host, at any path of gate, guarded or not. */
function isHookLine(line: unknown, id: string): boolean {
  if (typeof line !== "string" || line.length > 8_192) return false;
  const guard = Object.values(GUARDED_ON_WINDOWS).find((one) => line.endsWith(one)) ?? "";
  const ours = new RegExp(String.raw`(?:^|[\s'"\\/])${PROGRAM}['"]?\s+hook\s+['"]?${id}['"]?\s*$`);
  return ours.test(line.slice(0, line.length - guard.length));
}

function read({ hooks }: HookedHost, file: ConfigFile): Record<string, unknown> {
  const document = EDITORS[hooks.settings.format].read(file.text ?? "", file.path);
  if (document.hooks === undefined || isRecord(document.hooks)) return document;
  throw uneditable(file.path, "hooks is no object");
}

function uneditable(path: string, cause: string): CliError {
  return new CliError(`Cannot edit "${path}": ${cause}`, {
    next: `correct ${path}, then the same command`,
  });
}

function finish(
  { hooks }: HookedHost,
  file: ConfigFile,
  changes: Change[],
  outcome: HookPlan["outcome"],
): HookPlan {
  const text = file.text ?? "";
  if (changes.length === 0) return { outcome: "unchanged", after: text };
  refuseReadOnly(file);
  return { outcome, after: editText(EDITORS[hooks.settings.format], text, changes, file.path) };
}

/** Our hooks of an event, in the order of the list. */
function findOurs(
  host: HookedHost,
  document: Record<string, unknown>,
  event: string,
  file: string,
): Found[] {
  const list = isRecord(document.hooks) ? document.hooks[event] : undefined;
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw uneditable(file, `hooks.${event} is no list`);
  return list.flatMap((one, i): Found[] => {
    const path = ["hooks", event, String(i)];
    if (!isRecord(one)) return [];
    if (!host.hooks.settings.is_grouped) {
      return isOurs(one, host) ? [{ path, entry: one, group: null, is_alone: true }] : [];
    }
    const inner = Array.isArray(one.hooks) ? one.hooks : [];
    const is_alone = inner.length === 1;
    return inner.flatMap((entry, j) =>
      isRecord(entry) && isOurs(entry, host)
        ? [{ path: [...path, "hooks", String(j)], entry, group: one, is_alone }]
        : []
    );
  });
}

function isOurs(entry: Record<string, unknown>, { id }: HookedHost): boolean {
  return ["command", "bash", "powershell"].some((key) => isHookLine(entry[key], id));
}

/** False for a group that somebody narrowed to some tools. */
function coversEveryTool({ group }: Found): boolean {
  return group === null || [undefined, "", "*", ".*"].includes(group.matcher as string);
}

function entryOf(
  { entry, fail_closed, timeout }: HookSettings,
  command: string,
  event: HookEvent,
  { os }: Pick<Machine, "os">,
): HookEntry {
  const wait = timeoutOf(event) * (timeout.unit === "ms" ? 1000 : 1);
  return {
    must: { ...entry(command, os), ...(event.is_before ? fail_closed : {}) },
    at_least: { [timeout.key]: wait },
  };
}

function newHook({ is_grouped }: HookSettings, { must, at_least }: HookEntry) {
  const entry = { ...must, ...at_least };
  return is_grouped ? { matcher: "*", hooks: [entry] } : entry;
}

/** Changes only our keys: a longer time-out that a person set stays. */
function changesTo({ path, entry }: Found, { must, at_least }: HookEntry): Change[] {
  const changes: Change[] = [];
  for (const [key, value] of Object.entries(must)) {
    if (entry[key] !== value) changes.push({ path: [...path, key], value });
  }
  for (const [key, value] of Object.entries(at_least)) {
    const is = entry[key];
    if (typeof is !== "number" || is < value) changes.push({ path: [...path, key], value });
  }
  return changes;
}

/** Removes the last hooks first, so that the indexes of the others stay right. */
function removals(found: Found[]): Change[] {
  return [...found].reverse().map(({ path, group, is_alone }) => ({
    path: group !== null && is_alone ? path.slice(0, 3) : path,
    value: undefined,
  }));
}

/** Creates each missing list together with its first hook. */
function withLists(document: Record<string, unknown>, changes: Change[]): Change[] {
  const hooks = isRecord(document.hooks) ? document.hooks : null;
  const isNew = ({ path }: Change) => path[2] === "-" && hooks?.[path[1]!] === undefined;
  const rest = changes.filter((change) => !isNew(change));
  const lists = changes.filter(isNew).map(({ path, value }) => [path[1]!, [value]] as const);
  if (lists.length === 0) return rest;
  if (hooks === null) {
    return [...rest, { path: ["hooks"], value: Object.fromEntries(lists) }];
  }
  return [...rest, ...lists.map(([name, value]) => ({ path: ["hooks", name], value }))];
}
