import { describe, expect, test } from "vitest";
import { agent, openGate, reviewer } from "../harness.ts";

describe("a replay", () => {
  test("needs a rolled-back write and a reviewer, and evaluates the policy again", async () => {
    const { gate, actions, write, back, read } = await openGate({ files: { "a.txt": "v1" } });
    const action = await write("a.txt", "v2");
    await expect(actions.replay(action.id, reviewer)).rejects.toMatchObject({ code: "conflict" });
    await back(action.id);
    await expect(actions.replay(action.id, agent)).rejects.toMatchObject({ code: "forbidden" });
    gate.write(
      "gate.config.json",
      JSON.stringify({ id: "test", policies: { defaultEffect: "ask", blockedPaths: ["b.txt"] } }),
    );
    const { action: again } = await actions.replay(action.id, reviewer);
    expect(again).toMatchObject({ status: "pending", replay_of: action.id });
    await actions.approve(again.id, {}, reviewer);
    expect(read("a.txt")).toBe("v2");
    const types = (await gate.audit()).filter(({ action_id }) => action_id === action.id)
      .map(({ type }) => type);
    expect(types.at(-1)).toBe("action.replayed");
  });

  test("of an edited write uses the reviewer's version", async () => {
    const { actions, write, back, read } = await openGate({ policies: { defaultEffect: "ask" } });
    const action = await write("a.txt", "agent's");
    await actions.approveWithEdit(action.id, { content: "reviewer's" }, reviewer);
    await back(action.id);
    const { action: again } = await actions.replay(action.id, reviewer);
    await actions.approve(again.id, {}, reviewer);
    expect(read("a.txt")).toBe("reviewer's");
  });
});
