import { Hono } from "hono";
import { type AppEnv, describe, json } from "../route.ts";
import type { Decider, Proofs } from "./proofs.ts";
import {
  PasskeyOptions,
  PasskeyOptionsInput,
  ProofStatus,
  RemoveProofInput,
  SetProofInput,
} from "./schema.ts";

interface ProofApiServices {
  caller: Decider;
  daemon: { proofs: Proofs };
}

/** `/api/proof`. */
export const proofApi = new Hono<AppEnv<ProofApiServices>>()
  .get(
    "/",
    describe("Get the kind of proof that a decision needs, and the enrolled keys", ProofStatus),
    async (c) => c.json(await c.var.daemon.proofs.status(c.var.caller.member_id)),
  )
  .post(
    "/set",
    describe("Enrol a passphrase or a passkey, or let the reviewer's token decide", ProofStatus),
    json(SetProofInput),
    async (c) => c.json(await c.var.daemon.proofs.set(c.var.caller, c.req.valid("json"))),
  )
  .post(
    "/remove",
    describe(
      "Remove your key, or as an admin a member's: they approve nothing until they have a new one",
      ProofStatus,
    ),
    json(RemoveProofInput),
    async (c) => c.json(await c.var.daemon.proofs.remove(c.var.caller, c.req.valid("json"))),
  )
  .post(
    "/passkey-options",
    describe("Get the options with which a browser creates a passkey", PasskeyOptions),
    json(PasskeyOptionsInput),
    async (c) => c.json(await c.var.daemon.proofs.passkeyOptions(c.var.caller)),
  );
