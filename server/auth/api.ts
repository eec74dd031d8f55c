import { Hono } from "hono";
import type { Logins } from "./login.ts";
import { GateError } from "../errors.ts";
import { type AppEnv, describe } from "../route.ts";
import { WorkspaceId } from "../workspaces/schema.ts";
import { LoginCode } from "./schema.ts";

interface AuthServices {
  logins: Logins;
}

/** `/api/auth`. */
export const authApi = new Hono<AppEnv<AuthServices>>()
  .post(
    "/login-code",
    describe("A code that logs one browser in, once, within a minute", LoginCode, 201),
    (c) => c.json(c.var.logins.codes.create(), 201),
  );

/** `/login`: trades a code for a page key, which travels in the fragment and so in no log. */
export const loginApi = new Hono<AppEnv<AuthServices>>()
  .get("/", describe("Log a browser in"), async (c) => {
    const code = c.req.query("code");
    if (code === undefined || c.req.method === "HEAD") {
      return c.html(page("Log in", 'In a terminal, run "gate dashboard".'));
    }
    try {
      c.var.logins.codes.use(code);
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      const status = error.code === "rate_limited" ? 429 : 401;
      return c.html(page("Not logged in", error.message), status);
    }
    const { data: workspace } = WorkspaceId.safeParse(c.req.query("workspace"));
    const target = workspace ? `/?workspace=${workspace}` : "/";
    return c.body(null, 303, { location: `${target}#key=${await c.var.logins.keys.create()}` });
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
