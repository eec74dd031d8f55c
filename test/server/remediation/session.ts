import { createTestGate } from "../../helpers.ts";

/** A gate with an open session whose actions are allowed, and calls about it. */
export async function openSession() {
  const gate = await createTestGate({
    files: { ".env": "A=1", "src/a.ts": "old" },
    policies: { defaultEffect: "allow", blockedPaths: ["secret/**"], askCommands: ["terraform"] },
  });
  const opened = await gate.request("POST", "/api/sessions", { agent: "a", host: "test" }, "agent");
  const { id: session_id, session_secret } = await opened.json();
  const headers = { "X-Gate-Session": session_secret };
  const submit = async (tool: string, input: Record<string, unknown>) =>
    await (await gate.request(
      "POST",
      "/api/actions",
      { tool, input, session_id },
      "agent",
      headers,
    ))
      .json();
  const post = async (path: string, body: unknown) => {
    const answer = await gate.request("POST", `/api/remediation/${path}`, body);
    return { status: answer.status, body: await answer.json() };
  };
  return { gate, session_id, submit, post };
}

/** Reads a secret, writes where it may not, and overwrites a file of risk that nobody reviewed. */
export async function misbehave(
  submit: Awaited<ReturnType<typeof openSession>>["submit"],
): Promise<void> {
  await submit("read_file", { path: ".env" });
  await submit("write_file", { path: "secret/x", content: "1" });
  await submit("write_file", { path: ".gitlab-ci.yml", content: "a: 1" });
  await submit("write_file", { path: ".gitlab-ci.yml", content: "a: 2" });
}
