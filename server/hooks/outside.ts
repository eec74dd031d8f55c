import { homedir } from "node:os";
import { resolve } from "node:path";
import { absolute, type NativeCall, type Use } from "../actions/native/call.ts";
import type { Daemon } from "../daemon.ts";
import { GateError } from "../errors.ts";
import { compilePolicy, evaluate, type Evaluation } from "../policy/evaluate.ts";
import { UNREAD } from "../policy/shell/understand.ts";
import { resolvePath } from "../runtime/real_path.ts";

type Command = Extract<Use, { is: "command" }>;

/**
 * Why a call may not be made that is about no project: the gate's own data and daemon are off
 * limits everywhere, and so is switching it off. Null where it is none of the gate's business.
 */
export function outsideText(daemon: Daemon, { uses, cwd }: NativeCall): string | null {
  for (const use of uses) {
    const { decision, matched, asks } = use.is === "command"
      ? evaluateCommand(use, daemon)
      : evaluatePath(absolute(use.path, cwd), use.is, daemon);
    const isOff = matched.some(({ list }) => OFF_LIMITS.has(list)) ||
      asks.some(({ reason }) => reason.startsWith(UNREAD));
    if (isOff) return `Blocked by gate: ${decision.reason}`;
    const changed = use.is === "command" ? changedBy(use, daemon) : changedIn(use, cwd);
    for (const path of changed) {
      const { decision, matched } = evaluatePath(path, "write", daemon);
      if (matched.some(({ list }) => list === "blockedPaths")) {
        return `Blocked by gate: ${decision.reason}`;
      }
    }
  }
  return null;
}

/** What is about the gate itself, or may be: nobody could tell. */
const OFF_LIMITS = new Set(["self-protection", "evaluation"]);

/** Where hosts keep, for all projects, that they ask the gate. Nobody could be asked out here. */
const HOST_SETTINGS = [
  "~/.claude.json",
  "~/.claude/settings*.json",
  "~/.codex/{config.toml,hooks.json}",
  "~/.copilot/{mcp-config.json,hooks}",
  "~/.cursor/{mcp.json,hooks.json}",
  "~/.gemini/settings.json",
];

const reason = "An agent host's settings: they say that it asks the gate, so a person changes them";
const POLICY = compilePolicy({
  global: null,
  project: { defaultEffect: "allow" },
  override_global: false,
});
const SETTINGS = compilePolicy({
  global: null,
  project: {
    defaultEffect: "allow",
    blockedPaths: HOST_SETTINGS.map((pattern) => ({ pattern, reason })),
  },
  override_global: false,
});

/** The files that a command writes or deletes, as far as it names them; absolute. */
export function changedBy(use: Command, daemon: Daemon): string[] {
  const { analysis } = evaluateCommand(use, daemon);
  const named = [...analysis?.writes ?? [], ...analysis?.deletes ?? []];
  return named.map((path) => resolve(use.cwd, path));
}

function changedIn(use: Exclude<Use, Command>, cwd: string): string[] {
  if (use.is === "read") return [];
  return [use.path, ...use.is === "write" ? [use.from] : []].map((path) => absolute(path, cwd));
}

function evaluateCommand({ command, cwd }: Command, daemon: Daemon): Evaluation {
  return evaluate(POLICY, { kind: "command", command, cwd }, aroundOf(daemon, cwd));
}

function evaluatePath(path: string, access: "read" | "write" | "delete", daemon: Daemon) {
  if (path.includes("\0")) throw new GateError("invalid", "Its path is no path");
  const policy = access === "read" ? POLICY : SETTINGS;
  const request = { kind: "path" as const, access, path: resolvePath(path) };
  return evaluate(policy, request, aroundOf(daemon, "/"));
}

function aroundOf({ home, port }: Daemon, root: string) {
  return { roots: [root], user_home: homedir(), gate_home: home, port, resolve: resolvePath };
}
