import { describe, expect, test } from "vitest";
import { HOUR, openStage, type Stage } from "./stage.ts";

describe("a claim evaluates the policy and the grant again", () => {
  const PATTERN = { ...HOUR, max_uses: 1, pattern: "npm publish *" };
  test.each([
    ["nothing has changed", async () => {}, 200, ""],
    [
      "the grant is revoked",
      async ({ call, list }) => {
        expect((await call("DELETE", `/api/grants/${(await list())[0]!.id}`)).status).toBe(200);
      },
      409,
      "the grant that allowed it was revoked",
    ],
    [
      "the grant has expired",
      async ({ gate }) => {
        await Promise.resolve(gate.clock.advance(3_600_000));
      },
      409,
      "the grant that allowed it has expired",
    ],
    [
      "another rule asks",
      async ({ call }) => {
        await call("PUT", "/api/config/policies", { askCommands: ["npm publish"] });
      },
      409,
      "does not cover what the policy now asks",
    ],
    [
      "the policy blocks the command",
      async ({ call }) => {
        await call("PUT", "/api/config/policies", { blockedCommands: ["npm publish"] });
      },
      409,
      "policy now blocks it",
    ],
  ] as [string, (stage: Stage) => Promise<void>, number, string][])(
    "%s",
    async (_name, change, status, why) => {
      const stage = await openStage();
      const { run, remember, finish } = stage;
      await remember(await run("npm publish a"), PATTERN);
      const allowed = await run("npm publish b");
      expect(allowed.status).toBe("approved");
      await change(stage);
      const answer = await finish(allowed);
      expect(answer.status).toBe(status);
      expect(String((answer.body as { detail?: string }).detail ?? "")).toContain(why);
    },
  );
});

test("a grant survives a restart of the daemon", async () => {
  const { gate, run, remember, list } = await openStage();
  await remember(await run("npm test"), { ...HOUR, max_uses: 2 });
  await gate.reopen();
  expect((await run("npm test")).status).toBe("approved");
  expect(await list()).toMatchObject([{ uses: 1, state: "live" }]);
});

test("submitting an approved, unclaimed command again uses no grant", async () => {
  const { run, approve, list } = await openStage();
  const first = await run("npm test");
  await approve(first.id, HOUR);
  expect((await run("npm test")).id).toBe(first.id);
  expect(await list()).toMatchObject([{ uses: 0 }]);
});

test("a grant from an approval on a changed file has the digest of the final action", async () => {
  const { gate, call, submit, list } = await openStage({ files: { "docs/a.md": "one\ntwo\n" } });
  const edits = [{ old_text: "two", new_text: "2" }];
  const held = await submit("edit_file", { path: "docs/a.md", edits });
  gate.write("docs/a.md", "1\ntwo\n");
  const { body: { base } } = await call<{ base: { now_sha256: string } }>(
    "GET",
    `/api/actions/${held.id}`,
  );
  const done = await call<{ digest: string }>("POST", `/api/actions/${held.id}/approve`, {
    base_sha256: base.now_sha256,
    remember: { ...HOUR, pattern: "docs/**" },
  });
  expect(done).toMatchObject({ status: 200, body: { status: "approved", edited: true } });
  expect(done.body.digest).not.toBe(held.digest);
  expect(await list()).toMatchObject([{ digest: done.body.digest, pattern: "docs/**" }]);
  const again = [{ old_text: "1", new_text: "one" }];
  expect(await submit("edit_file", { path: "docs/a.md", edits: again })).toMatchObject({
    status: "approved",
    execution: "succeeded",
  });
});
