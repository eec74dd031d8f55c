import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { absolute, type NativeCall } from "../actions/native/call.ts";
import { isInside } from "../actions/target.ts";
import type { Daemon } from "../daemon.ts";
import { GateError } from "../errors.ts";
import { detectProject } from "../mcp/detect_project.ts";
import { compilePolicy, evaluate, type Evaluation } from "../policy/evaluate.ts";
import { UNREAD } from "../policy/shell/understand.ts";
import type { Project } from "../projects/project.ts";
import { resolvePath } from "../runtime/real_path.ts";

/** The project of a call, and the rule that said so. */
export interface Place {
  project: Project;
  root: string;
  rule: string;
}

/**
 * The project that a call belongs to: where its session was opened, else where it works, else the
 * one whose files it is about. Null where it is about none that the gate knows.
 */
export async function findPlace(
  daemon: Daemon,
  call: NativeCall,
  project_dir: string | undefined,
): Promise<Place | null> {
  const registry = {
    list: () => daemon.listRoots(),
    register: (root: string) => daemon.registerProject(root),
  };
  const none = { workspaces: [], roots: [], home: homedir() };
  const hints = { ...none, cwd: standing(call.cwd), claude_project_dir: project_dir };
  const found = await detectProject(hints, registry);
  if (!("reason" in found)) return await open(daemon, found);
  // What only an agent names picks among the registered projects, and registers none.
  const about = pathsOf(call);
  for (const { id, roots } of about.length > 0 ? await registry.list() : []) {
    const root = roots.find((one) => about.some((path) => isInside(path, one)));
    if (root) return await open(daemon, { project_id: id, root, rule: "path" });
  }
  return null;
}

/** The folder, or what is left of the way to it: whoever deletes the folder it works in stays here. */
function standing(folder: string): string {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}

async function open(daemon: Daemon, found: { project_id: string; root: string; rule: string }) {
  const { project_id, root, rule } = found;
  return { project: await daemon.project(project_id), root, rule };
}

/** The files that a call is about, where they really are. */
function pathsOf({ uses, cwd }: NativeCall): string[] {
  return uses.flatMap((use) => {
    try {
      return [resolvePath(use.is === "command" ? use.cwd : absolute(use.path, cwd)).real];
    } catch {
      return []; // nobody can say where that is: judged by its letters, where it is judged
    }
  });
}

/**
 * Why a call may not be made that is about no project: the gate's own data and daemon are off
 * limits everywhere. Null where it is none of the gate's business.
 */
export function outsideText(daemon: Daemon, call: NativeCall): string | null {
  const policy = compilePolicy({
    global: null,
    project: { defaultEffect: "allow" },
    override_global: false,
  });
  const around = {
    roots: [call.cwd],
    user_home: homedir(),
    gate_home: daemon.home,
    port: daemon.port,
    resolve: resolvePath,
  };
  for (const use of call.uses) {
    const { decision, matched, asks } = evaluateUse(use, call, { policy, around });
    const isOff = matched.some(({ list }) => OFF_LIMITS.has(list)) ||
      asks.some(({ reason }) => reason.startsWith(UNREAD));
    if (isOff) return `Blocked by gate: ${decision.reason}`;
  }
  return null;
}

/** What is about the gate itself, or may be: nobody could tell. */
const OFF_LIMITS = new Set(["self-protection", "evaluation"]);

type Judging = {
  policy: ReturnType<typeof compilePolicy>;
  around: Parameters<typeof evaluate>[2];
};

function evaluateUse(
  use: NativeCall["uses"][number],
  { cwd }: NativeCall,
  { policy, around }: Judging,
): Evaluation {
  if (use.is === "command") {
    return evaluate(policy, { kind: "command", command: use.command, cwd: use.cwd }, around);
  }
  const path = absolute(use.path, cwd);
  if (path.includes("\0")) throw new GateError("invalid", "Its path is no path");
  const facts = resolvePath(path);
  return evaluate(policy, { kind: "path", access: use.is, path: facts }, around);
}
