import { createMiddleware } from "hono/factory";
import { z } from "zod";
import { GateError } from "../errors.ts";
import { parse } from "../parse.ts";
import { isSignedDeed } from "./check_challenge.ts";
import type { Proofs } from "./proofs.ts";
import { MOST_TOGETHER, Proof } from "./schema.ts";

/** The header in which a terminal names the member who decides there. */
const MEMBER_HEADER = "x-gate-member";

/** The header of a request whose body has no room for a proof: base64url of the proof's JSON. */
const HEADER = "x-gate-proof";
const MAX_HEADER = 12_288;

/** The proofs of a request about several actions: one for each item, null where none is needed. */
const SeveralProofs = z.array(Proof.nullable()).min(1).max(MOST_TOGETHER);

interface Env {
  Bindings: { json?: unknown };
  Variables: {
    caller?: {
      scope: string;
      id: string;
      member_id: string | null;
      via: string;
      proof: Proof | null;
      proofs?: readonly (Proof | null)[];
    };
    daemon: { proofs: Pick<Proofs, "requireKeyOf"> };
  };
}

/**
 * Takes a reviewer's proof out of the request, so that no route and no stored answer sees it.
 * @throws GateError `invalid`
 */
export const withProof = createMiddleware<Env>(async (c, next) => {
  const named = c.req.header(MEMBER_HEADER);
  // Agents and viewers never decide. Their bodies stay as they are.
  if (c.var.caller?.scope !== "reviewer") return await next();
  if (named !== undefined) {
    await requireSigned(c.req.method, c.req.path, named, c.var);
    c.set("caller", { ...c.var.caller, id: named, member_id: named });
  }
  const { caller } = c.var;
  const header = c.req.header(HEADER);
  const { json } = c.env;
  const isInBody = typeof json === "object" && json !== null && Object.hasOwn(json, "proof");
  if (header === undefined && !isInBody) return await next();
  if (header !== undefined && isInBody) {
    throw new GateError("invalid", "Cannot read the proof: it is given twice; give it once");
  }
  if (header !== undefined) {
    c.set("caller", { ...caller, proof: parse(Proof, decode(header)) });
    return await next();
  }
  const { proof, ...rest } = json as { proof: unknown };
  c.env.json = rest;
  const given = Array.isArray(proof)
    ? { proofs: parse(SeveralProofs, proof) }
    : { proof: parse(Proof, proof) };
  c.set("caller", { ...caller, ...given });
  await next();
});

/**
 * The reviewer's token is the same for everybody at this machine, so a name counts only where the
 * named person has to sign. @throws GateError `invalid`, `forbidden`
 */
async function requireSigned(
  method: string,
  path: string,
  named: string,
  { caller, daemon: { proofs } }: Env["Variables"],
): Promise<void> {
  const refuse = (code: "invalid" | "forbidden", why: string) =>
    new GateError(code, `Cannot act as a member: ${why}`);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(named)) {
    throw refuse("invalid", "X-Gate-Member is no member's id");
  }
  if (caller?.via !== "token") {
    throw refuse("forbidden", "your page is logged in as somebody; X-Gate-Member is for terminals");
  }
  if (!isSignedDeed(method, path)) {
    throw refuse("invalid", "this request needs no signature; send it without X-Gate-Member");
  }
  await proofs.requireKeyOf(named);
}

function decode(header: string): unknown {
  if (header.length <= MAX_HEADER && /^[A-Za-z0-9_-]+$/.test(header)) {
    try {
      const bytes = Buffer.from(header, "base64url");
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      // Reported below.
    }
  }
  throw new GateError(
    "invalid",
    "Cannot read X-Gate-Proof: send the proof as JSON in base64url",
  );
}
