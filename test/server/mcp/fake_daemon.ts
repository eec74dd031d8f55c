import { Hono } from "hono";
import type { Action, ResultInput, SubmitInput } from "../../../server/actions/schema.ts";
import { isAllowed } from "../../../server/auth/scopes.ts";
import type { ClientOptions } from "../../../server/client.ts";
import type { HubProject } from "../../../server/projects/schema.ts";
import type { SessionInput } from "../../../server/sessions/schema.ts";

type Kept = Action & { result: Record<string, unknown> | null };

/** The fake's decision on a path or command: the word in it decides. */
const EFFECTS = { allow: /./, ask: /held/, deny: /\.env/ };

/**
 * The routes of the daemon that MCP uses, in memory, so that losing it, slowing it and counting
 * what reaches it are in a test's hand. What the real one does is tested with the real one.
 */
export class FakeDaemon {
  readonly actions = new Map<string, Kept>();
  readonly sessions: (SessionInput & { id: string; project: string; ended: boolean })[] = [];
  readonly claims: string[] = [];
  readonly calls: string[] = [];
  projects: HubProject[] = [];
  /** While true nobody answers, as while the daemon is being restarted. */
  away = false;
  /** The credential that is good now. */
  token = "first";
  /** Why the next claim is refused for good. */
  unclaimable: string | null = null;
  /** The questions that policy was asked. */
  readonly questions: Record<string, unknown>[] = [];
  /** How often somebody looked for the daemon. */
  connects = 0;
  #next = 1;

  readonly connect = (): Promise<ClientOptions> => {
    this.connects++;
    if (this.away) return Promise.reject(new Error("The daemon is not running"));
    return Promise.resolve({ url: "http://daemon.test", token: this.token, fetch: this.#fetch });
  };

  addProject(id: string, root: string): void {
    this.projects.push({
      id,
      name: id,
      roots: [root],
      pending_count: 0,
      last_activity_at: null,
      reachable: true,
      unread: false,
      workspace_ids: [],
    });
  }

  /** Decides as a reviewer would. */
  decide(id: string, change: Partial<Kept>): void {
    const action = this.#get(id);
    Object.assign(action, change);
    if (action.status === "approved" && action.tool !== "run_command") carryOut(action);
  }

  readonly #fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    this.calls.push(`${request.method} ${new URL(request.url).pathname}`);
    if (this.away) throw new TypeError("connection refused");
    const given = request.headers.get("authorization");
    if (!isAllowed("agent", request.method, new URL(request.url).pathname)) {
      return Response.json({ code: "forbidden", status: 403, detail: "not for agents" }, {
        status: 403,
      });
    }
    const answer = given === `Bearer ${this.token}`
      ? await this.app.fetch(request)
      : Response.json({ code: "unauthorized", status: 401, detail: "Who are you?" }, {
        status: 401,
      });
    if (this.away) throw new TypeError("connection reset");
    return answer;
  };

  readonly app = new Hono()
    .get("/api/hub/projects", (c) => c.json({ items: this.projects }))
    .post("/api/hub/projects", async (c) => {
      const { root } = await c.req.json();
      this.addProject(`new-${this.projects.length}`, root);
      return c.json(this.projects.at(-1)!, 201);
    })
    .post("/api/sessions", async (c) => {
      const number = String(this.sessions.length + 1).padStart(12, "0");
      const id = `00000000-0000-7000-9000-${number}`;
      const project = c.req.query("project") ?? "";
      this.sessions.push({ ...await c.req.json(), id, project, ended: false });
      return c.json({ id, session_secret: `secret of ${id}` }, 201);
    })
    .post("/api/sessions/:id/end", (c) => {
      const session = this.sessions.find(({ id }) => id === c.req.param("id"));
      if (session) session.ended = true;
      return c.json({});
    })
    .get("/api/sessions/:id/actions", (c) => {
      const { tool } = c.req.query();
      const items = [...this.actions.values()].filter((action) =>
        action.session_id === c.req.param("id") && action.tool === tool
      );
      return c.json({ items: items.reverse(), next_cursor: null });
    })
    .post("/api/policy/test", async (c) => {
      const question = await c.req.json();
      const { path, command } = question;
      this.questions.push(question);
      const decision = decisionOn(path ?? command);
      return c.json({ ...decision, matched: [], unsure: [], elapsed_us: 1 });
    })
    .post("/api/actions", async (c) => {
      const action = this.#submit(await c.req.json());
      return c.json(action, action.status === "pending" ? 202 : 201);
    })
    .post("/api/actions/:id/wait", async (c) => {
      const until = Date.now() + ((await c.req.json()).timeout_ms ?? 0);
      const action = this.actions.get(c.req.param("id"));
      if (!action) return c.json({ code: "not_found", status: 404, detail: "Cannot find it" }, 404);
      const waits = () => action.status === "pending" || action.execution === "running";
      while (Date.now() < until && waits() && !this.away) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return c.json(action);
    })
    .post("/api/actions/:id/claim", (c) => {
      const action = this.#get(c.req.param("id"));
      if (action.status !== "approved" || action.execution !== "none") {
        return c.json({ code: "conflict", status: 409, detail: "Cannot claim" }, 409);
      }
      if (this.unclaimable) {
        action.execution = "failed";
        action.error = this.unclaimable;
        return c.json({ code: "invalid", status: 400, detail: this.unclaimable }, 400);
      }
      action.execution = "running";
      this.claims.push(action.id);
      return c.json({
        action,
        claim_id: `c-${action.id}`,
        command: action.command,
        cwd: "/tmp",
        timeout_ms: 60_000,
        max_output_bytes: 1_000,
      });
    })
    .post("/api/actions/:id/result", async (c) => {
      const action = this.#get(c.req.param("id"));
      const said: ResultInput = await c.req.json();
      action.exit_code = said.exit_code;
      action.error = said.error ?? null;
      action.execution = said.exit_code === 0 ? "succeeded" : "failed";
      action.result = { output: said.output, truncated: said.truncated };
      return c.json(action);
    });

  #submit({ tool, input, session_id }: SubmitInput): Kept {
    const what = String(input.path ?? input.command ?? input.action_id);
    const decision = decisionOn(what);
    const status = { allow: "approved", ask: "pending", deny: "blocked" } as const;
    const action: Kept = {
      id: `00000000-0000-7000-8000-${String(this.#next++).padStart(12, "0")}`,
      seq: this.#next,
      project_id: "p1",
      root: "/p1",
      session_id: session_id ?? "",
      agent: "agent",
      tool,
      path: (input.path as string) ?? (input.from as string) ?? null,
      command: (input.command as string) ?? null,
      cwd: null,
      status: status[decision.effect],
      execution: "none",
      decision,
      risk: { score: 0, level: "low", factors: [] },
      reversibility: null,
      conflicts: [],
      reversible: true,
      edited: false,
      before_sha256: null,
      lines: null,
      title: null,
      moved_to: null,
      after_sha256: null,
      bytes: null,
      digest: "d",
      replay_of: null,
      rollback_of: (input.action_id as string) ?? null,
      created_at: new Date().toISOString(),
      decided_at: null,
      expires_at: null,
      decided_by: "policy",
      reason: null,
      exit_code: null,
      error: null,
      result: null,
    };
    this.actions.set(action.id, action);
    if (action.status === "approved" && tool !== "run_command") carryOut(action);
    return action;
  }

  #get(id: string): Kept {
    const action = this.actions.get(id);
    if (!action) throw new Error(`no action ${id}`);
    return action;
  }
}

function carryOut(action: Kept): void {
  action.execution = "succeeded";
  if (action.tool === "read_file") action.result = { content: "what it holds" };
}

function decisionOn(what: string): Action["decision"] {
  if (EFFECTS.deny.test(what)) {
    const rule = { pattern: ".env", list: "blockedPaths", source: "project" as const };
    return {
      effect: "deny",
      rule,
      reason: "secrets stay out",
      alternative: "use .env.example",
      sandbox: null,
    };
  }
  const effect = EFFECTS.ask.test(what) ? "ask" : "allow";
  return { effect, rule: null, reason: "no rule speaks of it", alternative: null, sandbox: null };
}
