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
});

test("gate session recommend prints commands that work", async () => {
  const { stdout } = await gated.good("session", "recommend", session);
  const commands = [...stdout.matchAll(/^ {2}gate (.+)$/gm)].map(([, words]) => words!.split(" "));
  expect(commands).toEqual([["session", "diff", session], ["session", "end", session]]);
  for (const words of commands) await gated.good(...words);
  const [own] = await gated.json("session", "list", "--json");
  expect(own).toMatchObject({ id: session, ended_at: expect.any(String) });
});

test("gate session recommend names the project that it was asked about", async () => {
  const { stdout } = await gated.good("session", "recommend", session, "--project", "web");
  expect(stdout).toContain(`gate session diff ${session} --project web\n`);
});

test("outside of projects a line names the only registered one", async () => {
  const { folder: cwd } = gated.terminal;
  expect(await gated.terminal.run(["session", "show", session], { cwd })).toMatchObject({
    code: 0,
    stderr: 'This folder belongs to no project; "web" is the only registered one.\n',
  });
  expect(await gated.terminal.run(["session", "show", session])).toMatchObject({ stderr: "" });
});

test.each(["assess", "evaluate", "recommend", "end"])(
  "gate session %s of no session fails",
  async (name) => {
    expect(await gated.terminal.run(["session", name, "none"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining('Cannot find session "none" in this project'),
    });
  },
);
