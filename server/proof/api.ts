import { Hono } from "hono";
import { type AppEnv, describe } from "../route.ts";
import type { Proofs } from "./proofs.ts";
import { ProofStatus } from "./schema.ts";

interface ProofApiServices {
  daemon: { proofs: Proofs };
}

/** `/api/proof`. */
export const proofApi = new Hono<AppEnv<ProofApiServices>>()
  .get(
    "/",
    describe("Get the kind of proof that a decision needs, and the enrolled keys", ProofStatus),
    async (c) => c.json(await c.var.daemon.proofs.status()),
  );
