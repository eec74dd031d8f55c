import { Hono } from "hono";
import { z } from "zod";
import type { LoginCodes } from "../auth/login.ts";
import { type Caller, LoginCode } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import {
  AcceptTeamInput,
  AddMemberInput,
  ChangeMemberInput,
  Member,
  MemberList,
  TeamStatus,
  Whoami,
} from "./schema.ts";
import type { Team } from "./team.ts";

interface TeamApiServices {
  caller: Caller;
  logins: { codes: LoginCodes };
  daemon: { team: Team };
}

const Empty = z.strictObject({});

/** `/api/team`. */
export const teamApi = new Hono<AppEnv<TeamApiServices>>()
  .get(
    "/",
    describe("Show whether the team in force is the one in team.json", TeamStatus),
    async (c) => c.json(await c.var.daemon.team.status()),
  )
  .get(
    "/whoami",
    describe("Show the person behind the credential", Whoami),
    async (c) => c.json(await c.var.daemon.team.whoami(c.var.caller)),
  )
  .post(
    "/accept",
    describe("Accept the changes that were made in team.json by hand", TeamStatus),
    json(AcceptTeamInput),
    async (c) => {
      const { daemon: { team }, caller } = c.var;
      await team.accept(caller);
      return c.json(await team.status());
    },
  )
  .get(
    "/members",
    describe("List the members of the team", MemberList),
    async (c) => c.json({ items: await c.var.daemon.team.members() }),
  )
  .post(
    "/members",
    describe("Add a member to the team", Member, 201),
    json(AddMemberInput),
    async (c) => c.json(await c.var.daemon.team.add(c.req.valid("json"), c.var.caller), 201),
  )
  .patch(
    "/members/:id",
    describe("Change a member's name, role or addresses", Member),
    json(ChangeMemberInput),
    async (c) => {
      const { daemon: { team }, caller } = c.var;
      return c.json(await team.change(c.req.param("id"), c.req.valid("json"), caller));
    },
  )
  .delete(
    "/members/:id",
    describe("Remove a member from the team; their logins end at once", Member),
    async (c) => c.json(await c.var.daemon.team.remove(c.req.param("id"), c.var.caller)),
  )
  .post(
    "/members/:id/login-code",
    describe("Create a code that logs in one member, once, within a minute", LoginCode, 201),
    json(Empty),
    async (c) => {
      const { daemon: { team }, caller, logins } = c.var;
      return c.json(await team.createLogin(c.req.param("id"), caller, logins.codes), 201);
    },
  );
