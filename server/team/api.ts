import { Hono } from "hono";
import type { LoginCodes } from "../auth/login.ts";
import { type Caller, LoginCode } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import {
  AcceptListInput,
  AddMemberInput,
  ChangeMemberInput,
  LoginCodeInput,
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
    json(AcceptListInput),
    async (c) => {
      const { daemon: { team }, caller } = c.var;
      await team.accept(c.req.valid("json"), caller);
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
    json(LoginCodeInput),
    async (c) => {
      const { daemon: { team }, caller, logins: { codes } } = c.var;
      const input = c.req.valid("json");
      return c.json(await team.createLogin(c.req.param("id"), input, caller, codes), 201);
    },
  );
