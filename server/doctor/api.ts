import { Hono } from "hono";
import { z } from "zod";
import type { Caller } from "../auth/schema.ts";
import { type AppEnv, describe, json } from "../route.ts";
import type { Doctor } from "./doctor.ts";
import { DoctorState, Repair, Repaired } from "./schema.ts";

interface DoctorServices {
  caller: Caller;
  daemon: { doctor: Doctor };
}

/** `/api/doctor`. */
export const doctorApi = new Hono<AppEnv<DoctorServices>>()
  .get(
    "/",
    describe("Get the newest report of the checks of this machine", DoctorState),
    (c) => c.json(c.var.daemon.doctor.state()),
  )
  .post(
    "/runs",
    describe("Run the checks of this machine", DoctorState),
    json(z.strictObject({})),
    async (c) => c.json(await c.var.daemon.doctor.check(c.var.caller)),
  )
  .post(
    "/repairs",
    describe("Make the change that a finding of the checks asks for", Repaired),
    json(Repair),
    async (c) => c.json(await c.var.daemon.doctor.repair(c.req.valid("json"), c.var.caller)),
  );
