import { describe, expect, test } from "vitest";
import type { GrantPreview } from "../../../server/grants/schema.ts";
import { testCaller } from "../../helpers.ts";
import { HOUR, openStage } from "./stage.ts";

describe("a remembered approval", () => {
  test("allows the same action again, counts the uses and names the reviewer", async () => {
    const { gate, run, remember, list, types } = await openStage();
    const first = await run("npm publish --tag next");
    expect(first.status).toBe("pending");
    const grant = await remember(first, { ...HOUR, max_uses: 2 });
    expect(grant).toMatchObject({
      scope: "project",
      pattern: null,
      digest: first.digest,
      tool: "run_command",
      command: "npm publish --tag next",
      questions: ["default"],
      given_by: "reviewer",
      max_uses: 2,
      uses: 0,
      state: "live",
    });
    const second = await run("npm publish --tag next");
    expect(second).toMatchObject({
      status: "approved",
      execution: "none",
      decided_by: "policy",
      decision: {
        effect: "allow",
        rule: null,
        reason: "Remembered by reviewer on 2026-01-01 00:00 UTC for exactly this: 1 of 2 uses " +
          `left, until 2026-01-01 01:00 UTC (grant ${grant.id})`,
        grant_id: grant.id,
      },
    });
    expect(await types(second.id)).toEqual(["action.submitted", "grant.used", "action.approved"]);
    expect(await types(first.id)).toEqual([
      "action.submitted",
      "action.approved",
      "grant.added",
      "action.started",
      "action.finished",
    ]);
    expect((await run("npm publish --tag next")).status).toBe("approved");
    expect((await run("npm publish --tag next")).status).toBe("pending");
    expect(await list()).toMatchObject([{ uses: 2, state: "used_up" }]);
    const told = gate.events.filter(({ type }) => type.startsWith("grant."));
    expect(told.map(({ topic, type }) => `${topic} ${type}`)).toEqual([
      "approvals grant.added",
      "approvals grant.used",
      "approvals grant.used",
    ]);
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
  });

  test("is in the audit chain with its questions and each use", async () => {
    const { gate, write, remember } = await openStage({
      policies: { defaultEffect: "allow", askPaths: ["docs/**"] },
    });
    const first = await write("docs/a.md");
    const grant = await remember(first, { ...HOUR, pattern: "docs/*.md" });
    const second = await write("docs/b.md");
    const events = (await gate.audit()).filter(({ type }) => type.startsWith("grant."));
    expect(events).toMatchObject([
      {
        type: "grant.added",
        action_id: first.id,
        session_id: first.session_id,
        actor: { kind: "reviewer", id: "reviewer" },
        data: {
          grant_id: grant.id,
          scope: "project",
          pattern: "docs/*.md",
          digest: first.digest,
          questions: ["project askPaths docs/**"],
          max_uses: 3,
          expires_at: "2026-01-01T01:00:00.000Z",
        },
      },
      {
        type: "grant.used",
        action_id: second.id,
        actor: { kind: "policy", id: "policy" },
        data: {
          grant_id: grant.id,
          use: 1,
          max_uses: 3,
          pattern: "docs/*.md",
          digest: second.digest,
          asked: 'A person decides by "docs/**" in askPaths (project)',
        },
      },
    ]);
    expect(second).toMatchObject({ status: "approved", execution: "succeeded" });
  });
});

describe("a grant", () => {
  const POLICIES = { defaultEffect: "ask" as const, allowedPaths: ["out/**"] };

  test("allows in its session only, or in every session of the project", async () => {
    const { run, remember, session } = await openStage();
    const [mine, other] = [await session(), await session()];
    await remember(await run("npm test", mine), { ...HOUR, scope: "session" });
    expect((await run("npm test", other)).status).toBe("pending");
    expect((await run("npm test", mine)).status).toBe("approved");
    await remember(await run("npm run lint", mine), HOUR);
    expect((await run("npm run lint", other)).status).toBe("approved");
  });

  test("allows until it expires", async () => {
    const { gate, run, remember, list } = await openStage();
    await remember(await run("npm test"), { ...HOUR, ttl_seconds: 60 });
    gate.clock.advance(59_999);
    expect((await run("npm test")).status).toBe("approved");
    gate.clock.advance(1);
    expect((await run("npm test")).status).toBe("pending");
    expect(await list()).toMatchObject([{ state: "expired", uses: 1 }]);
  });

  test.each([
    ["into its time", -30_000],
    ["before it was given", -3_600_000],
  ])("does not come back when the clock is set back %s", async (_, ms) => {
    const { gate, run, remember } = await openStage();
    await remember(await run("npm test"), { ...HOUR, ttl_seconds: 60 });
    gate.clock.advance(30_000);
    expect((await run("npm test")).status).toBe("approved");
    gate.clock.advance(30_000);
    gate.clock.now += ms;
    expect((await run("npm test")).status).toBe("pending");
  });

  test("given while the clock was years ahead does not last for years", async () => {
    const { gate, run, remember } = await openStage();
    const year = 365 * 24 * 60 * 60 * 1000;
    gate.clock.now += 9 * year;
    await remember(await run("npm test"), HOUR);
    await gate.reopen(() => void (gate.clock.now -= 9 * year));
    expect((await run("npm test")).status).toBe("pending");
  });

  test("can be limited to the project, but not to a session that has ended", async () => {
    const { approve, call, gate, run, session, list } = await openStage();
    const mine = await session();
    const { id } = await run("npm test", mine);
    // The moment before the end of the session cancels what it holds.
    await gate.project.sessions.end(mine, testCaller());
    const preview = await call<GrantPreview>("POST", "/api/grants/preview", { action_id: id });
    expect(preview.body.scopes).toEqual(["project"]);
    const askFor = (scope: "session" | "project") => approve(id, { ...HOUR, scope });
    const refused = await askFor("session");
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining("the session has ended; approve it once"),
    ]);
    expect(await list()).toEqual([]);
    expect((await askFor("project")).status).toBe(200);
    expect(await list()).toMatchObject([{ scope: "project", state: "live" }]);
  });

  test("expires when its session ends", async () => {
    const { call, run, remember, session, list } = await openStage();
    const mine = await session();
    await remember(await run("npm test", mine), { ...HOUR, scope: "session" });
    await call("POST", `/api/sessions/${mine}/end`, {}, "agent");
    expect(await list("?state=expired")).toHaveLength(1);
    expect(await list("?state=live")).toHaveLength(0);
  });

  test("allows nothing after it is revoked", async () => {
    const { call, gate, run, remember } = await openStage();
    const grant = await remember(await run("npm test"));
    expect(await call("DELETE", `/api/grants/${grant.id}`)).toMatchObject({
      status: 200,
      body: { id: grant.id, state: "revoked", revoked_by: "reviewer", uses: 0 },
    });
    expect((await run("npm test")).status).toBe("pending");
    expect(await call("DELETE", `/api/grants/${grant.id}`)).toMatchObject({
      status: 409,
      body: { code: "conflict", state: "revoked" },
    });
    const events = (await gate.audit()).filter(({ type }) => type === "grant.revoked");
    expect(events).toMatchObject([{
      action_id: grant.action_id,
      actor: { kind: "reviewer", id: "reviewer" },
      data: { grant_id: grant.id, uses: 0, max_uses: 3 },
    }]);
  });

  test("allows the same command only in the same folder with the same scripts", async () => {
    const { gate, submit, remember } = await openStage({
      files: { "deploy.sh": "echo 1", "a/x": "", "a/deploy.sh": "echo 1" },
    });
    const run = (cwd = ".") => submit("run_command", { command: "sh deploy.sh", cwd });
    await remember(await run(), { ...HOUR, max_uses: 10 });
    expect((await run("a")).status).toBe("pending");
    expect((await run()).status).toBe("approved");
    gate.write("deploy.sh", "rm -rf /");
    expect((await run()).status).toBe("pending");
    gate.write("deploy.sh", "echo 1");
    expect((await run()).status).toBe("approved");
  });

  test("allows commands that match its pattern while their scripts are unchanged", async () => {
    const { gate, run, remember } = await openStage({
      policies: POLICIES,
      files: { "deploy.sh": "echo 1", "other.sh": "echo 2" },
    });
    await remember(await run("bash deploy.sh a"), { ...HOUR, pattern: "bash deploy.sh *" });
    expect((await run("bash deploy.sh b")).status).toBe("approved");
    expect((await run("bash other.sh b")).status).toBe("pending");
    gate.write("deploy.sh", "rm -rf /");
    expect((await run("bash deploy.sh c")).status).toBe("pending");
  });

  test("with a path pattern allows only the same kind of access", async () => {
    const { submit, write, remember } = await openStage({ files: { "docs/old.md": "old" } });
    await remember(await write("docs/a.md"), { ...HOUR, max_uses: 10, pattern: "docs/**" });
    expect((await write("docs/deep/b.md")).execution).toBe("succeeded");
    const edits = [{ old_text: "old", new_text: "new" }];
    expect((await submit("edit_file", { path: "docs/old.md", edits })).status).toBe("approved");
    expect((await submit("delete_file", { path: "docs/old.md" })).status).toBe("pending");
    expect((await submit("read_file", { path: "docs/old.md" })).status).toBe("pending");
    expect((await submit("move_file", { from: "docs/a.md", to: "docs/c.md" })).status)
      .toBe("pending");
    expect((await write("src/a.ts")).status).toBe("pending");
    expect((await write(".git/hooks/pre-commit")).status).toBe("pending");
  });

  test("allows reading a file again after it has changed", async () => {
    const { submit, remember, gate } = await openStage({ files: { "a.txt": "1" } });
    await remember(await submit("read_file", { path: "a.txt" }));
    gate.write("a.txt", "2");
    expect(await submit("read_file", { path: "a.txt" })).toMatchObject({
      status: "approved",
      execution: "succeeded",
      result: { content: "2" },
    });
  });

  test("allows a native tool with the same input only", async () => {
    const { submit, remember } = await openStage();
    const fetch = (url: string) => submit("WebFetch", { url });
    await remember(await fetch("https://a.example/"));
    expect(await fetch("https://a.example/")).toMatchObject({
      status: "approved",
      execution: "unknown",
    });
    expect((await fetch("https://b.example/")).status).toBe("pending");
  });
});

describe("a grant answers only the questions that its approval answered", () => {
  test("a rule added later asks again, and a blocking rule wins", async () => {
    const { call, run, remember } = await openStage();
    await remember(await run("npm publish --tag next"), {
      ...HOUR,
      pattern: "npm publish --tag *",
    });
    expect((await run("npm publish --tag a")).status).toBe("approved");
    await call("PUT", "/api/config/policies", { askCommands: ["npm publish"] });
    expect((await run("npm publish --tag b")).status).toBe("pending");
    await call("PUT", "/api/config/policies", { blockedCommands: ["npm publish"] });
    expect((await run("npm publish --tag c")).status).toBe("blocked");
  });

  test("a wide pattern does not answer a rule about a narrower path", async () => {
    const { write, remember } = await openStage({
      policies: { defaultEffect: "ask", askPaths: ["src/auth/**"] },
    });
    await remember(await write("src/a.ts"), { ...HOUR, pattern: "src/**" });
    expect((await write("src/b.ts")).status).toBe("approved");
    expect((await write("src/auth/login.ts")).status).toBe("pending");
  });

  test("a tool rule can be answered for the same action only, not by a pattern", async () => {
    const { approve, write } = await openStage({
      policies: { defaultEffect: "allow", askTools: ["write_file"] },
    });
    const { id } = await write("docs/a.md");
    expect((await approve(id, { ...HOUR, pattern: "docs/**" })).status).toBe(400);
    expect((await approve(id, HOUR)).status).toBe(200);
  });
});
