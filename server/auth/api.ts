import { Hono } from "hono";
import { GateError } from "../errors.ts";
import { type AppEnv, describe, json } from "../route.ts";
import { WorkspaceId } from "../workspaces/schema.ts";
import type { Logins } from "./login.ts";
import type { Prover } from "./prover.ts";
import { type Caller, DaemonChallenge, DaemonProof, LoginCode } from "./schema.ts";

interface AuthServices {
  caller: Caller;
  logins: Logins;
  prover: Prover;
  /** The checked `Host` of the request; null over the unix socket. */
  host: string | null;
}

/** `/api/auth`. */
export const authApi = new Hono<AppEnv<AuthServices>>()
  .post(
    "/login-code",
    describe("Create a code that logs in one browser, once, within a minute", LoginCode, 201),
    // The guard admits only reviewers here, and each of them is a person.
    (c) => c.json(c.var.logins.codes.create(c.var.caller.member_id!), 201),
  )
  .post(
    "/prove-daemon",
    describe("Prove that the daemon knows a page key or token, without revealing it", DaemonProof),
    json(DaemonChallenge),
    async (c) => {
      const { host, prover } = c.var;
      // Over the socket there is no port to prove, and nobody but the owner reaches the socket.
      const proof = host && await prover.prove(c.req.valid("json"), `http://${host}`);
      if (!proof) throw unknownKey();
      return c.json(proof);
    },
  );

function unknownKey(): GateError {
  return new GateError(
    "not_found",
    "Cannot prove that this is your daemon: it does not know the key; log in again with gate dashboard",
  );
}

/** The seed of a link's own key, with which a member sets a key of theirs. */
const INVITATION = /^[A-Za-z0-9_-]{43}$/;

/** `/login`: exchanges a code for a page key. The fragment carries the key, so no log records it. */
export const loginApi = new Hono<AppEnv<AuthServices>>()
  .get("/", describe("Log a browser in"), (c) => {
    const code = c.req.query("code");
    if (code === undefined || c.req.method === "HEAD") {
      return c.html(page("Log in", 'In a terminal, run "gate dashboard".'));
    }
    let member_id: string;
    try {
      member_id = c.var.logins.codes.use(code);
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      const status = error.code === "rate_limited" ? 429 : 401;
      return c.html(page("Not logged in", error.message), status);
    }
    const { data: workspace } = WorkspaceId.safeParse(c.req.query("workspace"));
    const target = workspace ? `/?workspace=${workspace}` : "/";
    const invitation = c.req.query("invitation") ?? "";
    const invited = INVITATION.test(invitation) ? `&invitation=${invitation}` : "";
    return c.body(null, 303, {
      location: `${target}#key=${c.var.logins.keys.create(member_id)}${invited}`,
    });
  });

function page(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · gate</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<h1>${title}</h1>
<p>${text}</p>
</body>
</html>
`;
}
