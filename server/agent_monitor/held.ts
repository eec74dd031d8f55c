import type { Project } from "../projects/project.ts";

/** The host and the process that hold a session of gate. */
export interface Holder {
  /** Platform id of the host of its session. */
  host: string;
  /** The process of gate that the host started for the session; null for a hook. */
  pid: number | null;
  /** Whether the host calls the session by this id of its own. */
  isOf(named: string): boolean;
}

/** A held action, and the host and process that hold its session. */
export interface HeldAction extends Holder {
  project_id: string;
  action_id: string;
}

const MOST = 500;

/** The held actions of the open projects, of which only these can hold any. */
export async function listHeldActions(projects: readonly Project[]): Promise<HeldAction[]> {
  const lists = await Promise.all(projects.map(async (project) => {
    const { id, actions, sessions } = project;
    if (await project.countPending() === 0) return [];
    const { items } = await actions.list({ status: "pending", limit: MOST });
    const known = new Map(
      await Promise.all([...new Set(items.map(({ session_id }) => session_id))].map(
        async (session) => [session, await sessions.holderOf(session)] as const,
      )),
    );
    return items.flatMap(({ id: action_id, session_id }) => {
      const holder = known.get(session_id);
      return holder ? [{ project_id: id, action_id, ...holder }] : [];
    });
  }));
  return lists.flat();
}
