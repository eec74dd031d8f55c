import type { Action } from "../../server/actions/schema.ts";
import { toolOf } from "../../server/actions/tools.ts";
import type { Block } from "../../server/remediation/schema.ts";
import type {
  ListedSession,
  Session,
  SessionDiff,
  SessionRollbackInput,
  SessionRollbackResult,
} from "../../server/sessions/schema.ts";
import { Rollback, whyNotRollback } from "../rollback/rollback.ts";
import { api, unwrap } from "../state/client.ts";

/** A session with its actions, oldest first, and their effect on files. */
export interface SessionRecord {
  session: ListedSession;
  actions: Action[];
  /** True when the session has older actions than these. */
  isCut: boolean;
  diff: SessionDiff;
  /** The block that stops the session now; null without one. */
  block: Block | null;
}

const MAX_ACTIONS = 500;
const ROLLED_BACK = { none: "", partial: ", partly rolled back", full: ", rolled back" } as const;

/** Whether the session is open, idle or ended, and how much of it is rolled back, in words. */
export function stateOf({ state, block_reason, rollback_state }: ListedSession): string {
  const isBlocked = block_reason !== null && state !== "ended";
  return `${isBlocked ? "blocked" : state}${ROLLED_BACK[rollback_state]}`;
}

/** Reads a session with its actions and files. @throws ProblemError */
export async function loadSession(id: string): Promise<SessionRecord> {
  const { ":id": one } = api().api.sessions;
  const param = { id };
  const [session, diff, page] = await Promise.all([
    unwrap<ListedSession>(one.$get({ param })),
    unwrap<SessionDiff>(one.diff.$get({ param })),
    unwrap<{ items: Action[]; next_cursor: string | null }>(
      one.actions.$get({ param, query: { limit: String(MAX_ACTIONS) } }),
    ),
  ]);
  const block = session.block_reason === null ? null : await findBlock(session);
  return {
    session,
    block,
    diff,
    actions: page.items.toReversed(),
    isCut: page.next_cursor !== null,
  };
}

/** The block of a session, or of its agent in all sessions. */
async function findBlock({ id, agent, project_id }: Session): Promise<Block | null> {
  const { blocks } = api(project_id).api.remediation;
  const { items } = await unwrap<{ items: Block[] }>(blocks.$get());
  return items.find((block) => block.agent === null && block.session_id === id) ??
    items.find((block) => block.agent === agent) ?? null;
}

/** The actions that can be rolled back, oldest first; `from` null means the whole session. */
export function reversibleFrom(actions: readonly Action[], from: string | null): Action[] {
  const at = from === null ? 0 : actions.findIndex(({ id }) => id === from);
  return at < 0 ? [] : actions.slice(at)
    .filter((action) => !toolOf(action.tool).undoes && whyNotRollback(action) === null);
}

/** A session, and the first action to roll back; null means the whole session. */
interface SessionPart {
  record: SessionRecord;
  from: string | null;
}

export type SessionRollback = Rollback<SessionPart, SessionRollbackResult>;

/** The rollback of a session, or of its end. */
export function createSessionRollback(): SessionRollback {
  return new Rollback(requestOf, ({ actions }) => actions.length === 0);
}

// The agent may submit more after the preview, so the key names every action.
function requestOf({ record: { session, actions }, from }: SessionPart) {
  const action_ids = reversibleFrom(actions, from).map(({ id }) => id);
  return {
    key: action_ids.join(),
    send: sendRollback(session, from === null ? null : action_ids),
  };
}

/** The rollback of these actions of a session; null means the whole session. */
export function createRollbackOf(
  session: Pick<Session, "id" | "project_id">,
): Rollback<string[] | null, SessionRollbackResult> {
  return new Rollback(
    (action_ids) => ({
      key: action_ids?.join() ?? "whole",
      send: sendRollback(session, action_ids),
    }),
    ({ actions }) => actions.length === 0,
  );
}

function sendRollback(
  { id, project_id }: Pick<Session, "id" | "project_id">,
  action_ids: string[] | null,
) {
  const { ":id": one } = api(project_id).api.sessions;
  const param = { id };
  const send = (json: SessionRollbackInput) =>
    action_ids === null
      ? unwrap<SessionRollbackResult>(one.rollback.$post({ param, json }))
      : unwrap<SessionRollbackResult>(
        one["rollback-partial"].$post({ param, json: { ...json, action_ids } }),
      );
  // A proof covers the actions as the daemon lists them now.
  return async (options: { dry_run?: boolean; on_conflict?: "merge" | "force" }) => {
    if (options.dry_run) return await send(options);
    const { actions_sha256 } = await send({ ...options, dry_run: true });
    return await send({ ...options, expected_actions_sha256: actions_sha256 });
  };
}
