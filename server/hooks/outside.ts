import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { absolute, type NativeCall, type Use } from "../actions/submit/native.ts";
import { isInside } from "../actions/submit/target.ts";
import type { Daemon } from "../daemon.ts";
import { GateError } from "../errors.ts";
import { HOOKED_HOSTS } from "../hosts/hosts.ts";
import { compilePolicy, evaluate, type Evaluation } from "../policy/evaluate.ts";
import { isNamed } from "../policy/holes.ts";
import { analyse, UNREAD } from "../policy/shell/analyse.ts";
import { OWN_PID } from "../runtime/processes.ts";
import { resolvePath } from "../runtime/real_path.ts";

type Command = Extract<Use, { is: "command" }>;

/**
 * The refusal of a call that belongs to no project, or null. Outside of projects gate protects
 * only its own data, its daemon and the settings in which hosts ask gate.
 */
export function refusalOutside(daemon: Daemon, { uses, cwd }: NativeCall): string | null {
  for (const use of uses) {
    const { decision, matched, asks } = use.is === "command"
      ? evaluateCommand(use, daemon)
      : evaluatePath(absolute(use.path, cwd), use.is, daemon);
    const isOff = matched.some(({ list }) => OFF_LIMITS.has(list)) ||
      asks.some(({ reason }) => reason.startsWith(UNREAD));
    if (isOff) return `Blocked by gate: ${decision.reason}`;
    for (const change of changesOf(use, cwd)) {
      const cause = protectionOf(change, daemon);
      if (cause !== null) return `Blocked by gate: ${cause}`;
    }
  }
  return null;
}

/** The lists of rules that protect gate, and of rules that could not be evaluated. */
const OFF_LIMITS = new Set(["self-protection", "evaluation"]);

const reason = "An agent host's settings: they say that it asks the gate, so a person changes them";
const POLICY = compile([]);
const SETTINGS = compile(HOOKED_HOSTS.flatMap(({ hooks }) => hooks.settings.guarded_paths));
const FOLDERS = compile(HOOKED_HOSTS.map(({ hooks }) => hooks.settings.guarded_folder));

function compile(patterns: readonly string[]) {
  const blockedPaths = patterns.map((pattern) => ({ pattern, reason }));
  const project = { defaultEffect: "allow" as const, blockedPaths };
  return compilePolicy({ global: null, project, override_global: false });
}

/** One file or folder that a call changes. */
export interface Change {
  op: "write" | "delete";
  /** Absolute. The path of a command may hold a glob. */
  path: string;
}

/** The reason why nobody may make this change, or null. */
function protectionOf({ op, path }: Change, daemon: Daemon): string | null {
  const isOfHome = op === "delete" && dirname(path) === homedir();
  for (const policy of isOfHome ? [SETTINGS, FOLDERS] : [SETTINGS]) {
    const { matched } = evaluatePath(path, op, daemon, policy);
    if (matched.some(({ list }) => list === "blockedPaths")) return reason;
  }
  if (op !== "delete") return null;
  const { lexical, real } = resolvePath(path);
  const holds = [homedir(), daemon.home].find((kept) =>
    isInside(kept, lexical) || isInside(resolvePath(kept).real, real)
  );
  return holds === undefined ? null : `"${holds}" is off limits: it holds what the gate works with`;
}

/** The changes of a command, with files below a folder that it copies into and matches of a glob. */
function changesBy({ command, cwd }: Command): Change[] {
  return analyse(command, { cwd, user_home: homedir() }).effects.flatMap(({ op, path }) =>
    op === "read" || !isNamed(path) ? [] : [{ op, path }]
  );
}

function changesIn(use: Exclude<Use, Command>, cwd: string): Change[] {
  if (use.is === "read") return [];
  const changes: Change[] = [{ op: use.is, path: absolute(use.path, cwd) }];
  if (use.is === "write" && use.from !== use.path) {
    changes.push({ op: "delete", path: absolute(use.from, cwd) });
  }
  return changes;
}

/** The changes that a use makes. A move deletes its source. */
export function changesOf(use: Use, cwd: string): Change[] {
  return use.is === "command" ? changesBy(use) : changesIn(use, cwd);
}

/** The absolute paths that a command names and then writes or deletes. */
export function changedBy(use: Command, daemon: Daemon): string[] {
  const { analysis } = evaluateCommand(use, daemon);
  const named = [...analysis?.writes ?? [], ...analysis?.deletes ?? []];
  return named.map((path) => resolve(use.cwd, path));
}

function evaluateCommand({ command, cwd }: Command, daemon: Daemon): Evaluation {
  return evaluate(POLICY, { kind: "command", command, cwd }, aroundOf(daemon, cwd));
}

function evaluatePath(
  path: string,
  access: "read" | "write" | "delete",
  daemon: Daemon,
  policy = POLICY,
): Evaluation {
  if (path.includes("\0")) {
    throw new GateError("invalid", "Cannot check the path: it contains a NUL character; remove it");
  }
  const request = { kind: "path" as const, access, path: resolvePath(path) };
  return evaluate(policy, request, aroundOf(daemon, "/"));
}

function aroundOf({ home, port }: Daemon, root: string) {
  return {
    roots: [root],
    user_home: homedir(),
    gate_home: home,
    port,
    daemon_pid: OWN_PID,
    resolve: resolvePath,
  };
}
