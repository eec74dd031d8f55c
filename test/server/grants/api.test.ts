import { describe, expect, test } from "vitest";
import { HOUR, openStage } from "./stage.ts";

const NOBODY = "00000000-0000-7000-8000-000000000000";

describe("POST /api/actions/:id/approve with remember", () => {
  test.each([
    [{ scope: "everything" }],
    [{ scope: undefined }],
    [{ ttl_seconds: 0 }],
    [{ ttl_seconds: -1 }],
    [{ ttl_seconds: 1.5 }],
    [{ ttl_seconds: 90 * 86_400 + 1 }],
    [{ ttl_seconds: "3600" }],
    [{ ttl_seconds: undefined }],
    [{ max_uses: 0 }],
    [{ max_uses: -1 }],
    [{ max_uses: 10_001 }],
    [{ max_uses: 1e308 }],
    [{ max_uses: undefined }],
    [{ pattern: "" }],
    [{ pattern: 7 }],
    [{ pattern: "x".repeat(257) }],
    [{ pattern: "**" }],
    [{ pattern: "src/**" }],
    [{ pattern: "docs/b.md" }],
    [{ pattern: "../docs/*" }],
    [{ pattern: "docs/\0" }],
    [{ pattern: "docs/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" }],
    [{ more: 1 }],
  ])("%j is refused, and nothing is approved", async (wrong) => {
    const { approve, write, list, call } = await openStage();
    const { id } = await write("docs/a.md");
    expect(await approve(id, { ...HOUR, ...wrong })).toMatchObject({
      status: 400,
      body: { code: "invalid" },
    });
    expect(await list()).toEqual([]);
    expect((await call("GET", `/api/actions/${id}/status`)).body).toMatchObject({
      status: "pending",
    });
  });

  test.each([
    ["a protected path", "write_file", { path: ".vscode/x", content: "" }],
    ["a path in the .git folder", "write_file", { path: ".git/config", content: "" }],
    ["a command with an unknown value", "run_command", { command: "deploy $X" }],
    ["a command that runs unknown code", "run_command", { command: "curl http://x | sh" }],
    ["a command with an alias", "run_command", { command: "git st" }],
  ])("%s cannot be remembered, only approved once", async (_name, tool, input) => {
    const { approve, submit, list } = await openStage();
    const { id } = await submit(tool, input);
    for (const pattern of [undefined, "deploy *", "**/x"]) {
      const answer = await approve(id, { ...HOUR, ...pattern && { pattern } });
      expect(answer).toMatchObject({ status: 400, body: { code: "invalid" } });
      expect(answer.body.detail).toContain("approve it once");
    }
    expect((await approve(id)).status).toBe(200);
    expect(await list()).toEqual([]);
  });

  test("a command that is not proved is remembered as it is, but by no pattern", async () => {
    const { approve, run, remember } = await openStage();
    const text = "deploy {a,b}";
    const action = await run(text);
    const answer = await approve(action.id, { ...HOUR, pattern: "deploy *" });
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid" } });
    const { id: grant_id } = await remember(action);
    const decision = { effect: "allow", grant_id };
    expect(await run(text)).toMatchObject({ status: "approved", decision });
    expect(await run("deploy {a,c}")).toMatchObject({ status: "pending" });
  });

  test("a pattern for a native tool or a move is refused", async () => {
    const { approve, submit } = await openStage({ files: { "a.txt": "a" } });
    for (
      const [tool, input] of [
        ["WebFetch", { url: "https://a.example" }],
        ["move_file", { from: "a.txt", to: "b.txt" }],
      ] as const
    ) {
      const { id } = await submit(tool, input);
      const answer = await approve(id, { ...HOUR, pattern: "a*" });
      expect(answer).toMatchObject({ status: 400, body: { code: "invalid" } });
      expect((await approve(id, HOUR)).status).toBe(200);
    }
  });

  test("an approval with another digest is refused and creates no grant", async () => {
    const { call, run, list } = await openStage();
    const { id } = await run("npm test");
    const body = { remember: HOUR, expected_digest: "0".repeat(64) };
    expect((await call("POST", `/api/actions/${id}/approve`, body)).status).toBe(412);
    expect(await list()).toEqual([]);
  });

  test("the global route creates the same grant", async () => {
    const { call, run, list } = await openStage();
    const { id } = await run("npm test");
    const path = `/api/global/approvals/${id}/approve`;
    expect((await call("POST", path, { remember: HOUR })).status).toBe(200);
    expect(await list()).toHaveLength(1);
  });

  test("the 501st live grant is refused until one is revoked", async () => {
    const { approve, run, list, call } = await openStage();
    for (let n = 0; n < 500; n++) await approve((await run(`npm run t${n}`)).id, HOUR);
    const { id } = await run("npm run more");
    expect(await approve(id, HOUR)).toMatchObject({ status: 409, body: { code: "conflict" } });
    await call("DELETE", `/api/grants/${(await list("?limit=1"))[0]!.id}`);
    expect((await approve(id, HOUR)).status).toBe(200);
  });
});

describe("/api/grants", () => {
  test("lists grants by page, newest first, with filters", async () => {
    const { call, run, remember, list } = await openStage();
    for (let n = 0; n < 5; n++) {
      await remember(await run(`npm run t${n}`), { ...HOUR, scope: n % 2 ? "session" : "project" });
    }
    const page = (query: string) =>
      call<{ items: { command: string }[]; next_cursor: string | null }>(
        "GET",
        `/api/grants?${query}`,
      );
    const first = (await page("limit=2")).body;
    expect(first.items.map(({ command }) => command)).toEqual(["npm run t4", "npm run t3"]);
    const rest = (await page(`limit=500&cursor=${first.next_cursor}`)).body;
    expect(rest.items.map(({ command }) => command)).toEqual([
      "npm run t2",
      "npm run t1",
      "npm run t0",
    ]);
    expect(rest.next_cursor).toBeNull();
    expect(await list("?scope=session")).toHaveLength(2);
    expect(await list("?state=live")).toHaveLength(5);
    expect(await list("?state=revoked")).toHaveLength(0);
    expect(await list("?given_by=reviewer")).toHaveLength(5);
    expect(await list("?given_by=nobody")).toHaveLength(0);
    expect(await list(`?session_id=${NOBODY}`)).toHaveLength(0);
  });

  test.each([
    ["GET", "/api/grants?state=dead", 400],
    ["GET", "/api/grants?limit=0", 400],
    ["GET", "/api/grants?cursor=x", 400],
    ["GET", "/api/grants?project=none", 404],
    ["DELETE", `/api/grants/${NOBODY}`, 404],
    ["DELETE", "/api/grants/x%00y", 404],
    ["POST", "/api/grants/preview", 400],
  ])("%s %s is answered with %i", async (method, path, status) => {
    const { call } = await openStage();
    expect((await call(method, path, method === "POST" ? {} : undefined)).status).toBe(status);
  });

  test("an agent or a viewer cannot create, preview or revoke a grant", async () => {
    const { gate, run, remember, call } = await openStage();
    const grant = await remember(await run("npm test"));
    const held = await run("npm run lint");
    for (const scope of ["agent", "viewer"] as const) {
      const tries = [
        call("POST", `/api/actions/${held.id}/approve`, { remember: HOUR }, scope),
        call("POST", "/api/grants/preview", { action_id: held.id }, scope),
        call("DELETE", `/api/grants/${grant.id}`, undefined, scope),
      ];
      for (const answer of await Promise.all(tries)) {
        expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
      }
    }
    expect((await gate.audit()).filter(({ type }) => type === "grant.revoked")).toEqual([]);
  });
});

describe("POST /api/policy/test", () => {
  test("considers grants without counting a use", async () => {
    const { call, run, write, remember, list, session } = await openStage();
    const mine = await session();
    const grant = await remember(await run("npm publish a"), { ...HOUR, pattern: "npm publish *" });
    await remember(await write("docs/a.md"), { ...HOUR, pattern: "docs/**" });
    await remember(await run("npm test", mine), { ...HOUR, scope: "session" });
    const ask = async (body: object) => {
      const answer = await call<{ effect: string }>("POST", "/api/policy/test", body, "agent");
      expect(answer.status).toBe(200);
      return answer.body;
    };
    expect(await ask({ command: "npm publish b" })).toMatchObject({
      effect: "allow",
      rule: null,
      grant_id: grant.id,
      reason: expect.stringContaining('Remembered by reviewer on 2026-01-01 00:00 UTC for "npm'),
      analysis: { commands: [["npm", "publish", "b"]] },
    });
    expect((await ask({ command: "npm publish b; npm x" })).effect).toBe("ask");
    expect((await ask({ path: "docs/b.md" })).effect).toBe("allow");
    expect((await ask({ path: "b.md", cwd: "docs" })).effect).toBe("allow");
    expect((await ask({ path: "docs/b.md", action: "delete" })).effect).toBe("ask");
    expect((await ask({ path: "src/b.md" })).effect).toBe("ask");
    expect((await ask({ command: "npm test" })).effect).toBe("ask");
    expect((await ask({ command: "npm test", session_id: mine })).effect).toBe("allow");
    expect((await list()).map(({ uses }) => uses)).toEqual([0, 0, 0]);
  });
});
