import { existsSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestGate } from "../../../helpers.ts";
import { agent, openGate, reviewer, sha } from "../harness.ts";

describe("what happens to files while something is held", () => {
  const policies = { defaultEffect: "ask" as const };
  async function held(gate: TestGate, path: string) {
    const input = { path, content: "agent's" };
    return (await gate.project.actions.submit({ tool: "write_file", input }, agent)).action;
  }

  test("a folder swapped for a link: nothing is written anywhere", async () => {
    const { gate, actions, at } = await openGate({
      policies,
      files: { "h/a.txt": "v1", "out/x": "" },
    });
    const action = await held(gate, "h/a.txt");
    renameSync(at("h"), at("h.real"));
    symlinkSync("out", at("h"));
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
    });
    expect(await actions.get(action.id)).toMatchObject({ status: "pending", execution: "none" });
    expect(readdirSync(at("out"))).toEqual(["x"]);
  });

  test("an edit by hand survives, and the conflict names both contents", async () => {
    const { gate, actions, read } = await openGate({ policies, files: { "a.txt": "v1" } });
    const action = await held(gate, "a.txt");
    gate.write("a.txt", "by hand");
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
      fields: { expected_sha256: sha("v1"), now_sha256: sha("by hand") },
    });
    expect(read("a.txt")).toBe("by hand");
  });

  test("a script that changes is not the one that was approved", async () => {
    const { gate, actions, submit } = await openGate({
      policies,
      files: { "deploy.sh": "echo 1" },
    });
    const before = await submit("run_command", { command: "sh deploy.sh" });
    const late = await submit("run_command", { command: "sh ./deploy.sh now" });
    await actions.approve(late.id, {}, reviewer);
    gate.write("deploy.sh", "echo 2");
    await expect(actions.approve(before.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
    });
    await expect(actions.claim(late.id, {}, agent)).rejects.toMatchObject({ code: "conflict" });
    expect(await actions.get(late.id)).toMatchObject({ status: "approved", execution: "failed" });
  });

  test("a policy that blocks it by now is asked again", async () => {
    const { gate, actions, at } = await openGate({ policies });
    const action = await held(gate, "late.txt");
    gate.write(
      "gate.config.json",
      JSON.stringify({ id: "test", policies: { ...policies, blockedPaths: ["late.txt"] } }),
    );
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("policy now blocks it"),
    });
    expect(existsSync(at("late.txt"))).toBe(false);
  });

  test("another digest than the one that was shown is refused", async () => {
    const { gate, actions } = await openGate({ policies });
    const action = await held(gate, "a.txt");
    const expected_digest = "0".repeat(64);
    for (const verb of ["approve", "reject"] as const) {
      await expect(actions[verb](action.id, { expected_digest }, reviewer)).rejects.toMatchObject({
        code: "digest_mismatch",
        status: 412,
      });
    }
    expect((await actions.get(action.id)).status).toBe("pending");
    writeFileSync(join(gate.root, "unrelated"), "");
    await actions.approve(action.id, { expected_digest: action.digest }, reviewer);
  });
});
