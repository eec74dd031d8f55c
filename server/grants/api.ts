import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import type { Grants } from "./grants.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import {
  Grant,
  GrantList,
  GrantPreview,
  GrantPreviewInput,
  GrantQuery,
  GrantWaiting,
} from "./schema.ts";

interface GrantsServices {
  caller: Caller;
  project: {
    grants: Grants;
    previewGrants(input: GrantPreviewInput, caller: Caller): Promise<GrantPreview>;
    listWaiting(grant_id: string): Promise<GrantWaiting>;
  };
}

/** `/api/grants`. */
export const grantsApi = new Hono<AppEnv<GrantsServices>>()
  .get(
    "/",
    describe("List grants, newest first", GrantList),
    query(GrantQuery),
    async (c) => c.json(await c.var.project.grants.list(c.req.valid("query"))),
  )
  .post(
    "/preview",
    describe(
      "Preview the grants that an approval could make",
      GrantPreview,
    ),
    json(GrantPreviewInput),
    async (c) => c.json(await c.var.project.previewGrants(c.req.valid("json"), c.var.caller)),
  )
  .get(
    "/:id/waiting",
    describe(
      "List the held actions that a grant would allow if they were submitted now",
      GrantWaiting,
    ),
    async (c) => c.json(await c.var.project.listWaiting(c.req.param("id"))),
  )
  .delete(
    "/:id",
    describe("Revoke a grant", Grant),
    async (c) => c.json(await c.var.project.grants.revoke(c.req.param("id"), c.var.caller)),
  );
