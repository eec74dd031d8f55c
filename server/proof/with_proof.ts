import { createMiddleware } from "hono/factory";
import { GateError } from "../errors.ts";
import { parse } from "../parse.ts";
import { Proof } from "./schema.ts";

/** The header of a request whose body has no room for a proof: base64url of the proof's JSON. */
const HEADER = "x-gate-proof";
const MAX_HEADER = 12_288;

interface Env {
  Bindings: { json?: unknown };
  Variables: { caller?: { scope: string; proof: Proof | null } };
}

/**
 * Takes a reviewer's proof out of the request, so that no route and no stored answer sees it.
 * @throws GateError `invalid`
 */
export const withProof = createMiddleware<Env>(async (c, next) => {
  const { caller } = c.var;
  // Agents and viewers never decide. Their bodies stay as they are.
  if (caller?.scope !== "reviewer") return await next();
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
  c.set("caller", { ...caller, proof: parse(Proof, proof) });
  await next();
});

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
