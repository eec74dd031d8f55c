import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { absolute, type NativeCall } from "../actions/submit/native.ts";
import { isInside } from "../actions/submit/target.ts";
import type { Daemon } from "../daemon.ts";
import { detectProject } from "../projects/detect.ts";
import type { Project } from "../projects/project.ts";
import { resolvePath } from "../runtime/real_path.ts";
import { changedBy, changesOf } from "./outside.ts";

/** The project of a call, and the rule that found it. */
export interface Place {
  project: Project;
  root: string;
  rule: string;
}

/**
 * Finds the project of a call by the folder of its session, else by its working folder, else by the
 * files that it names. Null when no registered project matches.
 */
export async function findPlace(
  daemon: Daemon,
  call: NativeCall,
  project_dir: string | undefined,
): Promise<Place | null> {
  const registry = {
    list: () => daemon.projects.listRoots(),
    register: (root: string) => daemon.projects.register(root),
  };
  const none = { workspaces: [], roots: [], home: homedir() };
  const hints = { ...none, cwd: nearestFolder(call.cwd), claude_project_dir: project_dir };
  const found = await detectProject(hints, registry);
  if (!("reason" in found)) return await open(daemon, found);
  // A path that only the agent names may pick a registered project, but registers none.
  const about = pathsOf(call, daemon);
  const deleted = deletedBy(call);
  for (const { id, roots } of about.length > 0 ? await registry.list() : []) {
    const root = roots.find((one) =>
      about.some((path) => isInside(path, one)) || deleted.some((path) => isInside(one, path))
    );
    if (root) return await open(daemon, { project_id: id, root, rule: "path" });
  }
  return null;
}

/** The nearest existing parent, so that an agent that deletes its folder stays in its project. */
function nearestFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}

async function open(daemon: Daemon, found: { project_id: string; root: string; rule: string }) {
  const { project_id, root, rule } = found;
  return { project: await daemon.projects.get(project_id), root, rule };
}

/** The real paths that a call uses; for a command, the paths that it changes. */
function pathsOf({ uses, cwd }: NativeCall, daemon: Daemon): string[] {
  const paths = uses.flatMap((use) =>
    use.is === "command" ? [use.cwd, ...changedBy(use, daemon)] : [absolute(use.path, cwd)]
  );
  return realPaths(paths);
}

/** The real paths that a call deletes or moves away; a project may be inside. */
function deletedBy({ uses, cwd }: NativeCall): string[] {
  const deleted = uses.flatMap((use) => changesOf(use, cwd)).filter(({ op }) => op === "delete");
  return realPaths(deleted.map(({ path }) => path));
}

function realPaths(paths: string[]): string[] {
  return paths.flatMap((path) => {
    try {
      return [resolvePath(path).real];
    } catch {
      return []; // policy then evaluates the path as it is written
    }
  });
}
