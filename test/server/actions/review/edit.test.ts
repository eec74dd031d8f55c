import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { agent, openGate, reviewer, sha } from "../harness.ts";

describe("approve with edit", () => {
  const policies = { defaultEffect: "ask" as const };

  test("writes the reviewer's version and returns it to the agent", async () => {
    const { submitted, actions, at } = await openGate({ policies });
    const { action } = await submitted("write_file", { path: "a.txt", content: "one\ntwo\n" });
    const edit = { content: "one\n2\n", reason: "digits", expected_digest: action.digest };
    const done = await actions.approveWithEdit(action.id, edit, reviewer);
    expect(done).toMatchObject({
      edited: true,
      execution: "succeeded",
      after_sha256: sha("one\n2\n"),
    });
    expect(done.digest).not.toBe(action.digest);
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\n2\n");
    expect((await actions.wait(action.id, {}, agent)).result).toMatchObject({
      edited: true,
      final_content: "one\n2\n",
      diff: expect.stringContaining("-two\n+2\n"),
    });
    expect(await actions.detail(action.id)).toMatchObject({
      proposed: { content: "one\ntwo\n", command: null },
      after: { text: "one\n2\n", bytes: 6 },
    });
  });

  test.each<[string, string, "narrower" | "wider" | "blocked"]>([
    ["npm test", "npm test -- --bail", "narrower"],
    ["rm -r build", "rm -r build/tmp", "narrower"],
    ["echo a > out.txt", "echo b > out.txt", "narrower"],
    ["cat a.txt | sort", "sort a.txt", "narrower"],
    ["echo hello", "echo goodbye", "narrower"],
    ["npm test", "npm test; git push", "wider"],
    ["rm -r build", "rm -r src", "wider"],
    ["echo a > out.txt", "echo a > other.txt", "wider"],
    ["ls", "ls $(cat where)", "wider"],
    ["echo hi", "echo hi; $X", "wider"],
    ["npm test", "npm publish", "blocked"],
  ])("changing the command %j to %j is %s", async (command, edited, outcome) => {
    const { submitted, actions } = await openGate({
      policies: { ...policies, blockedCommands: ["npm publish"] },
    });
    const { action } = await submitted("run_command", { command });
    expect(action.status).toBe("pending");
    const answer = actions.approveWithEdit(action.id, { command: edited }, reviewer);
    if (outcome === "narrower") {
      expect(await answer).toMatchObject({ status: "approved", command: edited, edited: true });
      expect((await actions.claim(action.id, {}, agent)).command).toBe(edited);
      return;
    }
    const code = outcome === "wider" ? "invalid" : "conflict";
    await expect(answer).rejects.toMatchObject({ code });
    expect((await actions.get(action.id)).status).toBe("pending");
  });

  test.each<[string, Record<string, unknown>, Record<string, string>]>([
    ["write_file", { path: "a", content: "x" }, {}],
    ["write_file", { path: "a", content: "x" }, { command: "ls" }],
    ["write_file", { path: "a", content: "x" }, { content: "x", command: "ls" }],
    ["run_command", { command: "ls" }, { content: "x" }],
    ["delete_file", { path: "file" }, { content: "x" }],
  ])("%s with input %j rejects the edit %j", async (tool, input, edit) => {
    const { submitted, actions } = await openGate({ policies, files: { file: "x" } });
    const { action } = await submitted(tool, input);
    await expect(actions.approveWithEdit(action.id, edit, reviewer)).rejects.toMatchObject({
      code: "invalid",
    });
  });
});
