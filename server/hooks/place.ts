import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import type { NativeCall } from "../actions/submit/native.ts";
import type { Daemon } from "../daemon.ts";
import { GateError } from "../errors.ts";
import { detectProject, registerOrMachine } from "../projects/detect.ts";
import type { Project } from "../projects/project.ts";

/** The project of a call, and the rule that found it. */
export interface Place {
  project: Project;
  root: string;
  rule: string;
}

/** A hook brings an agent's credential, so what the config of a new project loosens waits. */
const BY_HOOK = { id: "hook", scope: "agent" } as const;

/**
 * Finds the project of a call by the folder of its session, else by its working folder. A folder of
 * no project belongs to the machine's own ledger. The files that a call names choose no project:
 * `submit()` also asks the rules of each project that holds one of them.
 * @throws GateError `not_found` if this daemon serves only one project, and the call is not in it
 */
export async function findPlace(
  daemon: Daemon,
  call: NativeCall,
  project_dir: string | undefined,
): Promise<Place> {
  const registry = {
    list: () => daemon.projects.listRoots(),
    register: (root: string) =>
      registerOrMachine(root, {
        register: (at) => daemon.projects.register(at, BY_HOOK),
        codeOf: (error) => error instanceof GateError ? error.code : undefined,
      }),
  };
  const none = { workspaces: [], roots: [], home: homedir() };
  const hints = { ...none, cwd: nearestFolder(call.cwd), claude_project_dir: project_dir };
  const found = await detectProject(hints, registry);
  if ("reason" in found) {
    throw new GateError("not_found", `Cannot evaluate the call: ${found.reason}`);
  }
  const { project_id, root, rule } = found;
  return { project: await daemon.projects.get(project_id), root, rule };
}

/** The nearest existing parent, so that an agent that deletes its folder stays in its project. */
function nearestFolder(folder: string): string {
  let at = folder;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}
