import { Hono } from "hono";
import { z } from "zod";
import type { Actions } from "../actions/actions.ts";
import { Escalation, RoutedApproval } from "../actions/review/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import { approveSeveral, type DecidingDaemon, rejectSeveral } from "./decide_several.ts";
import { ApproveSeveralInput, RejectSeveralInput, ReviewOutcomes } from "./schema.ts";

interface ApprovalsServices {
  caller: Caller;
  daemon: DecidingDaemon & {
    projects: {
      get(id: string): Promise<{ actions: Actions }>;
      listOpen(): Promise<{ actions: Actions }[]>;
    };
  };
}

const InProject = z.object({
  project: z.string().max(256).optional().describe("default: all projects"),
});

/** `/api/approvals`. */
export const approvalsApi = new Hono<AppEnv<ApprovalsServices>>()
  .get(
    "/pending",
    describe(
      "List the held actions with an approval route: who answered, who is asked, until when",
      z.object({ items: z.array(RoutedApproval) }),
    ),
    query(InProject),
    async (c) => {
      const chosen = await actionsOf(c.var.daemon, c.req.valid("query").project);
      const items = (await Promise.all(chosen.map((actions) => actions.listRouted()))).flat();
      return c.json({ items });
    },
  )
  .post(
    "/approve",
    describe("Approve several held actions, each by its digest", ReviewOutcomes),
    json(ApproveSeveralInput),
    async (c) => {
      const { caller, daemon } = c.var;
      requireReviewer(caller, "approve the actions", "gate approve");
      const outcomes = await approveSeveral(daemon, c.req.valid("json"), caller);
      return c.json({ outcomes });
    },
  )
  .post(
    "/reject",
    describe("Reject several held actions, each by its digest", ReviewOutcomes),
    json(RejectSeveralInput),
    async (c) => {
      const { caller, daemon } = c.var;
      requireReviewer(caller, "reject the actions", "gate reject");
      const outcomes = await rejectSeveral(daemon, c.req.valid("json"), caller);
      return c.json({ outcomes });
    },
  );

/** `/api/escalations`. */
export const escalationsApi = new Hono<AppEnv<ApprovalsServices>>()
  .get(
    "/pending",
    describe(
      "List the escalations of held actions",
      z.object({ items: z.array(Escalation) }),
    ),
    query(InProject),
    async (c) => {
      const chosen = await actionsOf(c.var.daemon, c.req.valid("query").project);
      const items = (await Promise.all(chosen.map((actions) => actions.listEscalations()))).flat();
      return c.json({ items });
    },
  );

/** Only an open project can hold an action. @throws GateError `not_found` */
async function actionsOf(
  { projects }: ApprovalsServices["daemon"],
  project: string | undefined,
): Promise<Actions[]> {
  const found = project === undefined ? await projects.listOpen() : [await projects.get(project)];
  return found.map(({ actions }) => actions);
}
