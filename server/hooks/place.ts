import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { absolute, type NativeCall } from "../actions/native/call.ts";
import { isInside } from "../actions/target.ts";
import type { Daemon } from "../daemon.ts";
import { detectProject } from "../projects/detect.ts";
import type { Project } from "../projects/project.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { changedBy, changesOf } from "./outside.ts";

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
  const about = pathsOf(call, daemon);
  const gone = goneIn(call);
  for (const { id, roots } of about.length > 0 ? await registry.list() : []) {
    const root = roots.find((one) =>
      about.some((path) => isInside(path, one)) || gone.some((path) => isInside(one, path))
    );
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

/** The files that a call is about, where they really are: of a command, those that it changes. */
function pathsOf({ uses, cwd }: NativeCall, daemon: Daemon): string[] {
  const paths = uses.flatMap((use) =>
    use.is === "command" ? [use.cwd, ...changedBy(use, daemon)] : [absolute(use.path, cwd)]
  );
  return realPaths(paths);
}

/** What a call deletes or moves away, with all that is in it: a project, too. */
function goneIn({ uses, cwd }: NativeCall): string[] {
  const gone = uses.flatMap((use) => changesOf(use, cwd)).filter(({ op }) => op === "delete");
  return realPaths(gone.map(({ path }) => path));
}

function realPaths(paths: string[]): string[] {
  return paths.flatMap((path) => {
    try {
      return [resolvePath(path).real];
    } catch {
      return []; // nobody can say where that is: judged by its letters, where it is judged
    }
  });
}
