import type { Action, ActionDetail } from "../../server/actions/schema.ts";
import { toolOf } from "../../server/actions/tools.ts";
import { flatten } from "../../server/shown/visible.ts";

/** An action in words: the verb, its object, and the rest. */
export interface Sentence {
  verb: string;
  object: string | null;
  /** The target of a move. */
  to?: string;
  tail: string;
}

const VERBS: Record<string, string> = {
  write_file: "Write",
  edit_file: "Edit",
  delete_file: "Delete",
  move_file: "Move",
  read_file: "Read",
  run_command: "Run",
  rollback: "Roll back",
};

/** The verbs of the file tools that agent hosts bring along. */
const HOST_VERBS: Record<string, string> = {
  Write: "Write",
  Edit: "Edit",
  MultiEdit: "Edit",
  NotebookEdit: "Edit",
  apply_patch: "Patch",
  Read: "Read",
};

type Described =
  & Pick<Action, "tool" | "path" | "command">
  & Partial<Pick<Action, "title" | "moved_to">>;

/** Describes an action in one line. */
export function sentenceOf(action: Described): Sentence {
  const verb = VERBS[action.tool];
  if (toolOf(action.tool).leases) {
    const tail = action.title ? `a plan: ${action.title}` : "a plan";
    return { verb: "Carry out", object: null, tail };
  }
  if (toolOf(action.tool).takes_over) {
    return { verb: "Take over", object: null, tail: "changes of a command" };
  }
  if (!verb) return sentenceOfTool(action);
  if (toolOf(action.tool).undoes) {
    return { verb, object: action.path, tail: action.path ? "" : "an earlier action" };
  }
  if (action.command !== null) return sentenceOfCommand(verb, action.command);
  const to = action.moved_to ? { to: action.moved_to } : {};
  return { verb, object: action.path, ...to, tail: "" };
}

// The path is part of the sentence; otherwise ten held writes of a host would read the same.
function sentenceOfTool(
  { tool, path, command }: Pick<Action, "tool" | "path" | "command">,
): Sentence {
  if (command !== null) return sentenceOfCommand("Run", command);
  const verb = HOST_VERBS[tool];
  if (verb && path !== null) return { verb, object: path, tail: "" };
  return { verb: "Use", object: tool, tail: path === null ? "" : ` on ${path}` };
}

// A list shows the first line and the number of further lines.
function sentenceOfCommand(verb: string, command: string): Sentence {
  const lines = command.trim().split("\n");
  const tail = lines.length > 1 ? ` + ${count(lines.length - 1, "line")}` : "";
  return { verb, object: lines[0]!, tail };
}

/** A sentence as plain text, for titles and announcements. */
export function plain({ verb, object, to, tail }: Sentence): string {
  const target = to === undefined ? "" : `to ${to}`;
  return flatten([verb, object, target, tail.trim()].filter(Boolean).join(" "));
}

/** Describes an action in the headline of its card, with numbers from the full record. */
export function headlineOf(detail: ActionDetail): Sentence {
  const sentence = sentenceOf(detail);
  if (detail.lease) {
    const { title, steps } = detail.lease;
    return { ...sentence, tail: `a plan of ${count(steps.length, "step")}: ${title}` };
  }
  if (sentence.verb === "Write" && detail.after) {
    const amount = detail.after.bytes === 0
      ? "an empty file"
      : detail.after.text === null
      ? bytesOf(detail.after.bytes)
      : count(linesOf(detail.after.text), "line");
    return { verb: `Write ${amount} to`, object: detail.path, tail: "" };
  }
  if (toolOf(detail.tool).shows === "command") return headlineOfCommand(detail, sentence);
  if (toolOf(detail.tool).undoes && detail.path === null && detail.changes.length > 0) {
    return { ...sentence, tail: `${count(detail.changes.length, "file")} of an earlier action` };
  }
  if (detail.taken_from) {
    const files = count(detail.files?.length ?? 0, "changed file");
    return { ...sentence, tail: `${files} of a command` };
  }
  const more = (detail.files?.length ?? 1) - 1;
  if (more > 0) return { ...sentence, tail: ` and ${count(more, "more file")}` };
  return sentence;
}

/** Whether the headline of a card shows its command whole, so that the card need not repeat it. */
export function isInHeadline({ tool, command }: Pick<ActionDetail, "tool" | "command">): boolean {
  return command !== null && toolOf(tool).shows === "command" && command.length <= 100 &&
    command === command.trim() && !command.includes("\n");
}

// The card shows a long command in full, so its headline only names the programs.
function headlineOfCommand(detail: ActionDetail, sentence: Sentence): Sentence {
  if (isInHeadline(detail)) return sentence;
  const programs = programsOf(detail);
  if (programs.length === 0) return { verb: "Run", object: null, tail: "a long command" };
  const shown = programs.slice(0, 4).join(", ");
  const more = programs.length > 4 ? ` and ${count(programs.length - 4, "more program")}` : "";
  return { verb: "Run", object: shown, tail: more };
}

/** The programs that a command starts, each once, in order. */
function programsOf(detail: ActionDetail): string[] {
  const names = (detail.analysis?.commands ?? []).map((argv) => argv[0] ?? "");
  return [...new Set(names)].filter((name) => name !== "");
}

/** The number of lines; a last line without a newline counts. */
export function linesOf(text: string): number {
  if (text === "") return 0;
  const breaks = text.split("\n").length - 1;
  return text.endsWith("\n") ? breaks : breaks + 1;
}

/** "1 line", "42 lines", "1,204 lines". */
export function count(n: number, noun: string): string {
  const plural = /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
  return `${number(n)} ${n === 1 ? noun : plural}`;
}

/** A number with thousands separators. */
export function number(n: number): string {
  return n.toLocaleString("en-US");
}

/** "512 bytes", "1.4 KB", "12 MB". */
export function bytesOf(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? "1 byte" : `${bytes} bytes`;
  const units = ["KB", "MB", "GB", "TB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** The time since a moment: "now", "12 s", "3 min", "5 h", "2 d". */
export function agoOf(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (seconds < 2) return "now";
  return spanOf(seconds);
}

/** A time span in one unit. */
export function spanOf(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** An exact date and time in the local time zone, with its name. */
export function exactOf(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}

/** A duration: "12 ms", "1.2 s", "3 min". */
export function durationOf(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return spanOf(ms / 1000);
}

/** Splits a path into its folder and its name. */
export function splitPath(path: string): { folder: string; name: string } {
  const cut = path.lastIndexOf("/", path.length - 2);
  return { folder: path.slice(0, cut + 1), name: path.slice(cut + 1) };
}

/** The first and last four characters of a hash. */
export function shortHash(hash: string): string {
  return hash.length <= 12 ? hash : `${hash.slice(0, 4)}…${hash.slice(-4)}`;
}

/** Names who decided. An agent that withdraws its own action has a name that it chose. */
export function deciderOf(
  { status, decided_by, agent }: Pick<Action, "status" | "decided_by" | "agent">,
): string {
  return status === "cancelled" && decided_by === agent ? `agent ${agent}` : actorOf(decided_by);
}

/** Names a person, the policy or gate. */
export function actorOf(id: string | null): string {
  if (id === "policy") return "the policy";
  if (id === "system" || id === null) return "gate";
  return id;
}
