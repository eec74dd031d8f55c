import type { ActionList } from "../../server/actions/list/schema.ts";
import type { Action } from "../../server/actions/schema.ts";
import { api, unwrap } from "../state/client.ts";

/** What came before a held action. */
export interface Earlier {
  /** The actions of the same session before it, newest first. */
  session: Action[];
  /** What people decided about the same file or the same command, newest first. */
  decided: Action[];
  /** The last write of the same file that a person approved and that was done. */
  approved: Action | null;
}

type Held = Pick<Action, "id" | "project_id" | "session_id" | "created_at" | "path" | "command">;

const MOST_OF_SESSION = 5;
const MOST_DECIDED = 3;
/** So many earlier actions are searched for decisions of people. */
const SEARCHED = 100;

/** Reads what came before a held action in its project. */
export async function readEarlier(held: Held): Promise<Earlier> {
  const { session_id, created_at: to } = held;
  const list = async (query: Record<string, string>): Promise<Action[]> => {
    const answer = await unwrap<ActionList | { count: number }>(
      api(held.project_id).api.actions.$get({ query: { ...query, to } }),
    );
    return "items" in answer ? answer.items.filter(({ id }) => id !== held.id) : [];
  };
  const alike = queryOf(held);
  const [session, found] = await Promise.all([
    list({ session_id, limit: String(MOST_OF_SESSION) }),
    alike === null ? [] : list({ ...alike, limit: String(SEARCHED) }),
  ]);
  const decided = found.filter((action) => isAlike(held, action) && isByPerson(action));
  const approved = decided.find(({ path, status, execution, after_sha256 }) =>
    path !== null && status === "approved" && execution === "succeeded" && after_sha256 !== null
  );
  return { session, decided: decided.slice(0, MOST_DECIDED), approved: approved ?? null };
}

function queryOf({ path, command }: Held): Record<string, string> | null {
  if (command !== null) return { q: beginningOf(command).slice(0, 256) };
  return path === null ? null : { path };
}

function isAlike(held: Held, { path, command }: Action): boolean {
  if (held.command === null) return command === null && path === held.path;
  return command !== null && beginningOf(command) === beginningOf(held.command);
}

/** The program of a command and its first word: `npm publish`. */
export function beginningOf(command: string): string {
  return command.trim().split(/\s+/, 2).join(" ");
}

function isByPerson({ decided_by, status }: Action): boolean {
  const decider = decided_by ?? "system";
  return decider !== "system" && decider !== "policy" && status !== "pending";
}
