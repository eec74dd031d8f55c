import { expect, test } from "vitest";
import { createTestGate } from "../../../helpers.ts";

const SECRET = "only people may read this";
const AFTER = "the agent's own text";

test("an agent learns no content of a file from its own held actions", async () => {
  const gate = await createTestGate({
    policies: { defaultEffect: "ask" },
    files: { "held/a.txt": `first\n${SECRET}\n`, "held/b.txt": SECRET },
  });
  const submit = async (tool: string, input: Record<string, unknown>) => {
    const answer = await gate.request("POST", "/api/actions", { tool, input }, "agent");
    const text = await answer.text();
    expect(text).not.toContain(SECRET);
    return JSON.parse(text).id as string;
  };
  const path = "held/a.txt";
  const steps = [{ tool: "write_file", input: { path, content: AFTER } }];
  const ids = [
    await submit("write_file", { path, content: AFTER }),
    await submit("edit_file", { path, edits: [{ old_text: "first", new_text: AFTER }] }),
    await submit("delete_file", { path }),
    await submit("move_file", { from: "held/b.txt", to: "held/c.txt" }),
    await submit("submit_plan", { title: "t", steps }),
    await submit("run_command", { command: "rm -r held" }),
  ];
  for (const id of ids) {
    const shown = async (scope: "agent" | "reviewer") =>
      await (await gate.request("GET", `/api/actions/${id}`, undefined, scope)).text();
    expect(await shown("agent")).not.toContain(SECRET);
    const [own, whole] = [JSON.parse(await shown("agent")), JSON.parse(await shown("reviewer"))];
    expect(own.deletion).toBeNull();
    expect(Object.keys(own)).toEqual(Object.keys(whole));
  }
  const seen = async (id: string) => await (await gate.request("GET", `/api/actions/${id}`)).text();
  for (const id of ids.slice(0, 5)) expect(await seen(id)).toContain(SECRET);
});
