import { Hono } from "hono";
import type { Caller } from "../auth/schema.ts";
import type { Daemon } from "../daemon.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import { answerHook } from "./hooks.ts";
import { endRun, startRun } from "./runs.ts";
import {
  HookInput,
  HookOutput,
  HookQuery,
  HookRun,
  HookRunEnd,
  HookRunInput,
  HookRunResult,
} from "./schema.ts";

interface HookServices {
  caller: Caller;
  daemon: Daemon;
}

/** `/api/hooks`. */
export const hooksApi = new Hono<AppEnv<HookServices>>()
  .post(
    "/:host",
    describe("Answer a hook of an agent host, in the host's own format", HookOutput),
    json(HookInput),
    query(HookQuery),
    async (c) => {
      const gone = c.env.gone?.();
      const { output, held } = await answerHook(c.req.valid("json"), {
        daemon: c.var.daemon,
        host: c.req.param("host"),
        query: c.req.valid("query"),
        caller: c.var.caller,
        ...gone && { gone },
      });
      // A client that can wait longer sends the same hook again.
      if (held !== null) c.header("Gate-Held", held);
      return c.json(output);
    },
  )
  .post(
    "/runs/:ticket",
    describe("Start a host's command in the sandbox, once", HookRun),
    json(HookRunInput),
    async (c) => {
      const { daemon, caller } = c.var;
      return c.json(
        await startRun(c.req.param("ticket"), c.req.valid("json"), { daemon, caller }),
      );
    },
  )
  .post(
    "/runs/:ticket/result",
    describe("Report the result of a host's command in the sandbox", HookRunEnd),
    json(HookRunResult),
    async (c) => {
      const { daemon, caller } = c.var;
      return c.json(await endRun(c.req.param("ticket"), c.req.valid("json"), { daemon, caller }));
    },
  );
