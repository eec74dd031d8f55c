import { afterAll, beforeAll, expect, test } from "vitest";
import { openConnection } from "../../../cli/daemon/connect.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
let session: string;
beforeAll(async () => {
  gated = await openGatedProject();
  const around = { env: gated.terminal.env, cwd: gated.folder, pid: 1 };
  const { url, fetch, token } = await openConnection(around, { scope: "agent" });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const call = { session_id: "s", cwd: gated.folder, hook_event_name: "PreToolUse" };
  const body = JSON.stringify({ ...call, tool_name: "Bash", tool_input: { command: "cat .env" } });
  await fetch(`${url}/api/hooks/claude-code?wait_ms=0`, { method: "POST", headers, body });
  session = (await gated.json("session", "list", "--json"))[0].id;
});
afterAll(() => gated.close());

test("gate session assess, evaluate and recommend say how a session stands", async () => {
  expect(await gated.json("session", "assess", session, "--json")).toMatchObject({
    level: "medium",
    factors: expect.arrayContaining([expect.objectContaining({ name: "riskiest_action" })]),
  });
  expect((await gated.good("session", "assess", session)).stdout).toMatch(/^medium \d+\n/);
  expect((await gated.good("session", "assess", session, "--rollback")).stdout).toMatch(/^\w+ \d+/);
  expect((await gated.good("session", "evaluate", session)).stdout).toContain(
    "blocked_attempt",
  );
  expect((await gated.good("session", "recommend", session)).stdout).toContain(
    `gate api GET /api/sessions/${session}/diff`,
  );
});

test.each(["assess", "evaluate", "recommend"])(
  "gate session %s of no session fails",
  async (name) => {
    expect(await gated.terminal.run(["session", name, "none"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining('Cannot find session "none" in this project'),
    });
  },
);
