import { CliError } from "../errors.ts";
import { type ConfigFile, refuseReadOnly } from "./edit/config_file.ts";
import { type Change, editText, isRecord } from "./edit/text_editor.ts";
import { isHookLine } from "./hook_line.ts";
import type { HookEntry, HookEvent, HookHost } from "./hook_host.ts";
import type { Machine } from "./machine.ts";

/** What has to be done to one file so that its host asks gate, or asks it no more. */
export interface HookPlan {
  outcome: "added" | "updated" | "removed" | "unchanged";
  after: string;
}

/** One of our hooks, where it stands. */
interface Found {
  path: string[];
  entry: Record<string, unknown>;
  /** The group around it, and whether nothing else stands in that. */
  group: Record<string, unknown> | null;
  is_alone: boolean;
}

/** The file with every hook of ours in it, each of them whole. @throws CliError */
export function planHooks(
  host: HookHost,
  file: ConfigFile,
  command: string,
  machine: Pick<Machine, "os">,
): HookPlan {
  const document = read(host, file);
  const changes: Change[] = [];
  let known = 0;
  for (const [key, value] of Object.entries(host.frame)) {
    if (document[key] === undefined) changes.push({ path: [key], value });
  }
  for (const event of host.events) {
    const [first, ...more] = findOurs(host, document, event, file.path);
    const entry = host.entry(command, event, machine);
    if (first && covers(first)) {
      known++;
      changes.push(...changesTo(first, entry));
    } else {
      if (first) more.unshift(first);
      changes.push({ path: ["hooks", event.name, "-"], value: newHook(host, entry) });
    }
    changes.push(...removals(more));
  }
  const ordered = withLists(document, changes);
  return finish(host, file, ordered, known > 0 ? "updated" : "added");
}

/** The file without any hook of ours. @throws CliError */
export function planRemoval(host: HookHost, file: ConfigFile): HookPlan {
  const document = read(host, file);
  const changes: Change[] = [];
  const events = isRecord(document.hooks) ? Object.keys(document.hooks) : [];
  const emptied: string[] = [];
  for (const name of events) {
    const found = findOurs(host, document, { name, is_before: true }, file.path);
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

/** The command lines of our hooks that stand in a file, one for each event. @throws CliError */
export function hookLines(host: HookHost, file: ConfigFile): string[] {
  const document = read(host, file);
  return host.events.flatMap((event) => {
    const [found] = findOurs(host, document, event, file.path);
    const line = found?.entry.command ?? found?.entry.bash ?? found?.entry.powershell;
    return typeof line === "string" ? [line] : [];
  });
}

function read(host: HookHost, file: ConfigFile): Record<string, unknown> {
  const document = host.editor.read(file.text ?? "", file.path);
  if (document.hooks === undefined || isRecord(document.hooks)) return document;
  throw new CliError(`Cannot edit "${file.path}": hooks is no object`, {
    next: `mend ${file.path}, then the same command`,
  });
}

function finish(
  host: HookHost,
  file: ConfigFile,
  changes: Change[],
  outcome: HookPlan["outcome"],
): HookPlan {
  const text = file.text ?? "";
  if (changes.length === 0) return { outcome: "unchanged", after: text };
  refuseReadOnly(file);
  return { outcome, after: editText(host.editor, text, changes, file.path) };
}

/** Our hooks of an event, in the order of the list. */
function findOurs(
  host: HookHost,
  document: Record<string, unknown>,
  event: HookEvent,
  file: string,
): Found[] {
  const list = isRecord(document.hooks) ? document.hooks[event.name] : undefined;
  if (list === undefined) return [];
  if (!Array.isArray(list)) {
    throw new CliError(`Cannot edit "${file}": hooks.${event.name} is no list`, {
      next: `mend ${file}, then the same command`,
    });
  }
  return list.flatMap((one, i) => {
    const path = ["hooks", event.name, String(i)];
    if (!isRecord(one)) return [];
    if (!host.is_grouped) return isOurs(one, host) ? [alone(path, one)] : [];
    const inner = Array.isArray(one.hooks) ? one.hooks : [];
    return inner.flatMap((entry, j): Found[] =>
      isRecord(entry) && isOurs(entry, host)
        ? [{
          path: [...path, "hooks", String(j)],
          entry,
          group: one,
          is_alone: inner.length === 1,
        }]
        : []
    );
  });
}

function alone(path: string[], entry: Record<string, unknown>): Found {
  return { path, entry, group: null, is_alone: true };
}

function isOurs(entry: Record<string, unknown>, { id }: HookHost): boolean {
  return ["command", "bash", "powershell"].some((key) => isHookLine(entry[key], id));
}

/** A group that somebody has narrowed leaves tools out. */
function covers({ group }: Found): boolean {
  return group === null || [undefined, "", "*", ".*"].includes(group.matcher as string);
}

function newHook({ is_grouped }: HookHost, { must, at_least }: HookEntry) {
  const entry = { ...must, ...at_least };
  return is_grouped ? { matcher: "*", hooks: [entry] } : entry;
}

/** Only what is ours: a longer time-out that a person has set stays. */
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

/** The last ones first, so that the numbers of the others stay right. */
function removals(found: Found[]): Change[] {
  return [...found].reverse().map(({ path, group, is_alone }) => ({
    path: group !== null && is_alone ? path.slice(0, 3) : path,
    value: undefined,
  }));
}

/** New hooks need their lists: one that is not there yet is made whole. */
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
