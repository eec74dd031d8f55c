import { existsSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestGate } from "../../../helpers.ts";
import { agent, openGate, reviewer, sha } from "../harness.ts";

describe("an action is held while files or policy change", () => {
  const policies = { defaultEffect: "ask" as const };
  async function held(gate: TestGate, path: string) {
    const input = { path, content: "agent's" };
    return (await gate.project.actions.submit({ tool: "write_file", input }, agent)).action;
  }

  test("an approval writes nothing when a link has replaced the folder", async () => {
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

  test("an approval keeps a file edited by hand and names both hashes", async () => {
    const { gate, actions, read } = await openGate({ policies, files: { "a.txt": "v1" } });
    const action = await held(gate, "a.txt");
    gate.write("a.txt", "by hand");
    await expect(actions.approve(action.id, {}, reviewer)).rejects.toMatchObject({
      code: "conflict",
      fields: { expected_sha256: sha("v1"), now_sha256: sha("by hand") },
    });
    expect(read("a.txt")).toBe("by hand");
  });

  test("a command is refused when its script has changed", async () => {
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

  test("an approval is refused when the policy now blocks the path", async () => {
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

  test("a decision with another digest is refused", async () => {
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
