import { describe, expect, test } from "vitest";
import type { GrantPreview } from "../../../server/grants/schema.ts";
import { openStage, type Stage } from "../grants/stage.ts";

const DAY = 86_400_000;

async function preview({ call }: Stage, action_id: string, pattern?: string) {
  const answer = await call<GrantPreview>("POST", "/api/grants/preview", {
    action_id,
    ...pattern && { pattern },
  });
  return answer.body;
}

const patternsOf = ({ offers }: GrantPreview) => offers.map(({ pattern }) => pattern);
const matchedOf = ({ offers }: GrantPreview, pattern: string | null) =>
  offers.find((offer) => offer.pattern === pattern)!.matched;

describe("what is offered", () => {
  test.each([
    ["npm publish --tag next", [null, "npm publish --tag next", "npm publish --tag *"]],
    ["npm publish", [null, "npm publish", "npm publish *"]],
    ["git commit -m 'a b'", [
      null,
      "git commit -m a\\ b",
      "git commit -m a\\ b *",
      "git commit -m *",
    ]],
    ["echo 'a|b*' | tee", [null, "tee", "tee *"]],
    ["sudo npm publish", [null]],
    ["npm publish && git push", [null]],
    ["npm publish > out.log", [null]],
    ["printf 'a\nb' | deploy 'a\nb'", [null]],
  ])("for the command %j", async (command, patterns) => {
    const stage = await openStage();
    const { id } = await stage.run(command);
    const found = await preview(stage, id);
    expect(patternsOf(found)).toEqual(patterns);
    expect(found).toMatchObject({ action_id: id, refused: null, complete: true });
    for (const { says } of found.offers) expect(says).not.toBe("");
  });

  test.each([
    ["npm publish", true],
    ["pytest -q", true],
    ["./deploy.sh", true],
    ["git commit -m x", false],
  ])("says that %j runs code that the agent can change: %j", async (command, isOwnCode) => {
    const stage = await openStage({ files: { "deploy.sh": "echo x" } });
    const { offers } = await preview(stage, (await stage.run(command)).id);
    expect(offers.length).toBeGreaterThan(0);
    for (const { says } of offers) {
      expect(/the agent can change that code$/.test(says)).toBe(isOwnCode);
    }
  });

  test.each([
    ["docs/a.md", [null, "docs/a.md", "docs/*.md", "docs/**"]],
    ["src/deep/x", [null, "src/deep/x", "src/deep/**"]],
    ["src/[id]/page.ts", [
      null,
      "src/\\[id\\]/page.ts",
      "src/\\[id\\]/*.ts",
      "src/\\[id\\]/**",
    ]],
  ])("for the file %j", async (path, patterns) => {
    const stage = await openStage();
    expect(patternsOf(await preview(stage, (await stage.write(path)).id))).toEqual(patterns);
  });

  test("for a file at the root: that one, and no namesake", async () => {
    const stage = await openStage();
    const first = await stage.write("README.md");
    const [, pattern] = patternsOf(await preview(stage, first.id));
    expect(pattern).toBe(`${stage.gate.root}/README.md`);
    await stage.remember(first, {
      scope: "project",
      ttl_seconds: 60,
      max_uses: 9,
      pattern: pattern!,
    });
    expect((await stage.write("README.md", "y")).status).toBe("approved");
    expect((await stage.write("docs/README.md")).status).toBe("pending");
  });

  test("every pattern that is offered can be saved, and allows the action itself", async () => {
    const cases = [
      "npm publish --tag next",
      "git commit -m 'a b'",
      "cp 'x y' z\\*",
      "../grants/run.sh -v a",
    ];
    for (const command of cases) {
      const stage = await openStage({ policies: { defaultEffect: "ask", allowedPaths: ["**"] } });
      const found = await preview(stage, (await stage.run(command)).id);
      for (const pattern of patternsOf(found)) {
        const grant = { scope: "project" as const, ttl_seconds: 60, max_uses: 1 };
        await stage.remember(await stage.run(command), { ...grant, ...pattern && { pattern } });
        const again = await stage.run(command);
        expect(again.status, `${command} by ${pattern}`).toBe("approved");
        await stage.finish(again);
      }
      await stage.gate.close();
    }
  });

  test("nothing, where nobody can answer ahead of time", async () => {
    const stage = await openStage();
    const { id } = await stage.run("rm -rf $X");
    expect(await preview(stage, id)).toMatchObject({
      refused: expect.stringContaining("a person decides on this each time"),
      offers: [],
    });
  });
});

describe("what it would have matched", () => {
  test("counts what was asked in 30 days, the newest few, and how many a person rejected", async () => {
    const stage = await openStage();
    const { gate, call, run, approve } = stage;
    await run("npm publish --tag old");
    gate.clock.advance(31 * DAY);
    for (let n = 0; n < 8; n++) {
      const { id } = await run(`npm publish --tag t${n}`);
      if (n < 3) await call("POST", `/api/actions/${id}/reject`, { reason: "no" });
      else await approve(id);
      gate.clock.advance(DAY);
    }
    await run("npm publish --force");
    await run("git push");
    const held = await run("npm publish --tag t1");
    const found = await preview(stage, held.id);
    expect(found).toMatchObject({ looked_at: 10, since: "2026-01-10T00:00:00.000Z" });
    expect(matchedOf(found, "npm publish --tag *")).toMatchObject({ count: 8, rejected: 3 });
    expect(matchedOf(found, "npm publish --tag *").newest.map(({ command }) => command))
      .toEqual([7, 6, 5, 4, 3].map((n) => `npm publish --tag t${n}`));
    expect(matchedOf(found, null)).toMatchObject({
      count: 1,
      rejected: 1,
      newest: [{ command: "npm publish --tag t1", status: "rejected", agent: "agent" }],
    });
  });

  test("of files too, and of a pattern of one's own", async () => {
    const stage = await openStage({
      policies: { defaultEffect: "ask", allowedPaths: ["free/**"], blockedPaths: ["*.env"] },
    });
    for (
      const path of ["docs/a.md", "docs/b.ts", "docs/x/c.md", "src/d.md", "free/e.md", "f.env"]
    ) {
      await stage.write(path);
    }
    const { id } = await stage.write("docs/z.md");
    const found = await preview(stage, id, "*.md");
    expect(patternsOf(found)).toEqual([null, "docs/z.md", "docs/*.md", "docs/**", "*.md"]);
    const count = (pattern: string) => matchedOf(found, pattern).count;
    expect(["docs/*.md", "docs/**", "*.md"].map(count)).toEqual([1, 3, 3]);
    expect(found.looked_at).toBe(6);
  });

  test("looks at page after page", async () => {
    const policies = { defaultEffect: "ask" as const, maxHeldPerSession: 1_000 };
    const stage = await openStage({ policies });
    for (let n = 0; n < 120; n++) await stage.run(`npm run t${n} && echo ${"x".repeat(200)}`);
    const { id } = await stage.run("npm run last");
    const found = await preview(stage, id);
    expect(found.looked_at).toBe(120);
    expect(matchedOf(found, "npm run *").count).toBe(120);
  });
});

test.each([
  ["src/**", "does not cover"],
  ["**", "everything"],
  ["docs/'", "does not cover"],
])("a pattern of one's own that cannot be: %s", async (pattern, why) => {
  const { call, write } = await openStage();
  const { id } = await write("docs/a.md");
  expect(await call("POST", "/api/grants/preview", { action_id: id, pattern })).toMatchObject({
    status: 400,
    body: { code: "invalid", detail: expect.stringContaining(why) },
  });
});

test("only what is held can be remembered", async () => {
  const { call, run, approve } = await openStage();
  const { id } = await run("npm test");
  await approve(id);
  expect(await call("POST", "/api/grants/preview", { action_id: id })).toMatchObject({
    status: 409,
    body: { current_status: "approved" },
  });
});
