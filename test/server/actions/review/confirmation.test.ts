import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../../helpers.ts";

const CRITICAL = "terraform apply -auto-approve -var-file=prod.tfvars";

function ask(gate: TestGate, level: string | null): void {
  const approvals = { proof: "token", ...level && { type_to_confirm: level } };
  writeFileSync(join(gate.home, "config.json"), JSON.stringify({ approvals }));
}

async function hold(gate: TestGate, tool: string, input: Record<string, unknown>) {
  const { action } = await gate.project.actions.submit({ tool, input }, testCaller("agent"));
  expect(action.status).toBe("pending");
  return action;
}

const open = () => createTestGate({ policies: { defaultEffect: "ask" } });

test("critical risk is approved only with the typed name; an edit of it too", async () => {
  const gate = await open();
  ask(gate, "critical");
  const { id, risk } = await hold(gate, "run_command", { command: CRITICAL });
  expect(risk.level).toBe("critical");
  const detail = await (await gate.request("GET", `/api/actions/${id}`)).json();
  expect(detail.confirmation).toBe("terraform");
  const send = async (verb: string, body: object) => {
    const answer = await gate.request("POST", `/api/actions/${id}/${verb}`, body);
    return [answer.status, await answer.json()] as const;
  };
  for (const confirm of [undefined, "", "Terraform", "terraform "]) {
    for (const [verb, more] of [["approve", {}], ["approve-with-edit", { command: "true" }]]) {
      const [status, body] = await send(String(verb), { ...more as object, confirm });
      expect([confirm, verb, status, body.code]).toEqual([confirm, verb, 400, "invalid"]);
      expect(body).toMatchObject({
        confirmation: "terraform",
        detail: expect.stringContaining('type "terraform"'),
      });
    }
  }
  expect((await gate.request("GET", `/api/actions/${id}/status`)).status).toBe(200);
  const [status, body] = await send("approve", { confirm: "terraform" });
  expect([status, body.status]).toEqual([200, "approved"]);
  const approved = await (await gate.request("GET", `/api/actions/${id}`)).json();
  expect(approved.confirmation).toBeNull();
});

test.each<[string, string | null, string, Record<string, unknown>, string | null]>([
  ["no level", null, "run_command", { command: CRITICAL }, null],
  ["a lower risk", "critical", "write_file", { path: "docs/a.txt", content: "x" }, null],
  [
    "a path of a program",
    "critical",
    "run_command",
    { command: `/usr/bin/${CRITICAL}` },
    "terraform",
  ],
  ["a level below", "high", "run_command", { command: CRITICAL }, "terraform"],
])("%s", async (_, level, tool, input, wanted) => {
  const gate = await open();
  ask(gate, level);
  const { id } = await hold(gate, tool, input);
  const detail = await (await gate.request("GET", `/api/actions/${id}`)).json();
  expect(detail.confirmation).toBe(wanted);
  const answer = await gate.request("POST", `/api/actions/${id}/approve`, {});
  expect(answer.status).toBe(wanted === null ? 200 : 400);
});

test("a name that nobody can type is replaced by the beginning of the digest", async () => {
  const gate = await open();
  ask(gate, "critical");
  const command = `"ter\u200braform" apply -auto-approve; ${CRITICAL}`;
  const { id, digest } = await hold(gate, "run_command", { command });
  const detail = await (await gate.request("GET", `/api/actions/${id}`)).json();
  expect(detail.confirmation).toBe(digest.slice(0, 8));
});
