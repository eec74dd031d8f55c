import type { PolicyLimits } from "../../server/policy/schema.ts";
import type { Block, Compliance, Recommendations } from "../../server/remediation/schema.ts";
import type { Risk } from "../../server/risk/schema.ts";
import type { ListedSession, Session } from "../../server/sessions/schema.ts";
import { api, unwrap } from "../state/client.ts";

/** At most this many projects are read at once. */
export const MOST_PROJECTS = 20;

const MOST_SESSIONS = "50";

/** The blocks and the newest sessions of some projects. */
export interface Situation {
  blocks: Block[];
  sessions: ListedSession[];
  /** The limits of the project; null for several projects. */
  limits: PolicyLimits | null;
}

/** Reads the blocks and sessions of these projects. @throws ProblemError */
export async function loadSituation(projects: string[]): Promise<Situation> {
  const found = await Promise.all(projects.map(async (id) => {
    const { remediation, sessions } = api(id).api;
    const [{ items: blocks }, page] = await Promise.all([
      unwrap<{ items: Block[] }>(remediation.blocks.$get()),
      unwrap<{ items: ListedSession[] }>(sessions.$get({ query: { limit: MOST_SESSIONS } })),
    ]);
    return { blocks, sessions: page.items };
  }));
  const [only, ...others] = projects;
  const limits = only === undefined || others.length > 0
    ? null
    : (await unwrap(api(only).api.config.$get())).effective.limits;
  return {
    blocks: found.flatMap(({ blocks }) => blocks)
      .sort((a, b) => b.created_at.localeCompare(a.created_at)),
    sessions: found.flatMap(({ sessions }) => sessions)
      .sort((a, b) => b.started_at.localeCompare(a.started_at)),
    limits,
  };
}

/** What remediation says about one session. */
export interface Evaluated {
  session: Session;
  risk: Risk;
  compliance: Compliance;
  advice: Recommendations;
}

/** Evaluates a session. @throws ProblemError */
export async function evaluate(
  { id, project_id }: Pick<Session, "id" | "project_id">,
): Promise<Evaluated> {
  const { remediation, sessions } = api(project_id).api;
  const { assess, recommend, "evaluate-policy": findings } = remediation;
  const json = { session_id: id };
  const session = await unwrap<Session>(sessions[":id"].$get({ param: { id } }));
  const [risk, compliance, advice] = await Promise.all([
    unwrap<Risk>(assess.$post({ json })),
    unwrap<Compliance>(findings.$post({ json })),
    unwrap<Recommendations>(recommend.$post({ json })),
  ]);
  return { session, risk, compliance, advice };
}
