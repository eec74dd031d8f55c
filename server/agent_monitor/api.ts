import { Hono } from "hono";
import { z } from "zod";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json, query } from "../route.ts";
import type { AgentMonitor } from "./monitor.ts";
import {
  AgentHistoryQuery,
  AgentPorts,
  AgentSession,
  AgentSessionList,
  AgentSessionQuery,
  AgentSnapshot,
  EndedSession,
  RateLimits,
  Terminated,
  TerminateInput,
} from "./schema.ts";

interface MonitorServices {
  caller: Caller;
  daemon: { monitor: AgentMonitor };
}

/** `/api/agent-monitor`. */
export const agentMonitorApi = new Hono<AppEnv<MonitorServices>>()
  .get(
    "/snapshot",
    describe("Get the agents of this machine: sessions, rate limits and ports", AgentSnapshot),
    async (c) => c.json(await c.var.daemon.monitor.snapshot()),
  )
  .get(
    "/history",
    describe(
      "List the agents' sessions that have ended",
      z.object({ items: z.array(EndedSession) }),
    ),
    query(AgentHistoryQuery),
    async (c) => c.json(await c.var.daemon.monitor.history(c.req.valid("query"))),
  )
  .get(
    "/ports",
    describe("List the listening child processes of agents, and the orphans", AgentPorts),
    async (c) => c.json(await c.var.daemon.monitor.ports()),
  )
  .get(
    "/sessions",
    describe("List the live sessions of agents", AgentSessionList),
    query(AgentSessionQuery),
    async (c) => c.json(await c.var.daemon.monitor.list(c.req.valid("query"))),
  )
  .get(
    "/sessions/:id",
    describe("Get a live session of an agent", AgentSession),
    async (c) => c.json(await c.var.daemon.monitor.get(c.req.param("id"))),
  )
  .get(
    "/rate-limits",
    describe("List the rate limits that agents tell", z.object({ items: z.array(RateLimits) })),
    async (c) => c.json(await c.var.daemon.monitor.rateLimits()),
  )
  .delete(
    "/ports/:pid",
    describe("Terminate an orphan process that listens on a port", Terminated),
    json(TerminateInput),
    async (c) => {
      const { daemon, caller } = c.var;
      const input = c.req.valid("json");
      return c.json(await daemon.monitor.terminate(c.req.param("pid"), input, caller));
    },
  );
