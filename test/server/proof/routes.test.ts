import { beforeAll, describe, expect, test } from "vitest";
import { createRoutes } from "../../../server/app.ts";
import { digestOf } from "../../../server/proof/digest.ts";
import type { ProofVerb } from "../../../server/proof/schema.ts";
import { listOperations } from "../../../server/route.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { enrol, sendTo, withPassphrase } from "./person.ts";

/** The ids that the rows send: an action that is held, one that was done, one that was rolled back. */
interface Given {
  held: string;
  done: string;
  undone: string;
  session: string;
}

type Json = Record<string, unknown>;

/** An empty list that nobody has changed. */
const FIRST_VERSION = { items_sha256: digestOf([]), number: 1 };

/** Routes that let more happen, with the verb of their proof and a request. */
const PROVEN: Record<string, [verb: ProofVerb, body: Json, path?: (given: Given) => string]> = {
  "POST /api/actions/{id}/approve": ["approve", {}, ({ held }) => held],
  "POST /api/actions/{id}/approve-with-edit": [
    "approve_with_edit",
    { content: "edited" },
    ({ held }) => held,
  ],
  "POST /api/actions/{id}/rollback": ["rollback", {}, ({ done }) => done],
  "POST /api/actions/{id}/replay": ["replay", {}, ({ undone }) => undone],
  "POST /api/global/approvals/{id}/approve": ["approve", {}, ({ held }) => held],
  "POST /api/sessions/{id}/rollback": ["rollback", {}, ({ session }) => session],
  "POST /api/sessions/{id}/rollback-partial": ["rollback", {}, ({ session }) => session],
  "DELETE /api/hub/projects/{id}": ["remove_project", {}, () => "empty"],
  "POST /api/team/members": ["change_team", { name: "Ann" }],
  "POST /api/team/accept": ["change_team", FIRST_VERSION],
  "POST /api/approval-routes": [
    "change_routes",
    { name: "all", approvers: { role: "admin" } },
  ],
  "POST /api/approval-routes/accept": ["change_routes", FIRST_VERSION],
  "POST /api/proof/set": ["change_proof", { kind: "token" }],
  "POST /api/proof/remove": ["remove_proof", {}],
};

/** Routes that other tests send: the proof depends on a config, on a block or on each action. */
const BY_EFFECT: Record<string, ProofVerb> = {
  "PUT /api/hub/projects/{id}/server": "move_ledger",
  "DELETE /api/hub/projects/{id}/server": "move_ledger",
  "POST /api/approvals/approve": "approve",
  "POST /api/config/accept": "accept_config",
  "PUT /api/config/policies": "change_policies",
  "POST /api/hub/projects": "register_project",
  "POST /api/workspaces/{id}/projects": "register_project",
  "PUT /api/hub/projects/{id}/override-trust": "trust_override",
  "POST /api/remediation/blocks/{block_id}/unblock": "lift_block",
  "PATCH /api/approval-routes/{id}": "change_routes",
  "DELETE /api/approval-routes/{id}": "change_routes",
  "PATCH /api/team/members/{id}": "change_team",
  "DELETE /api/team/members/{id}": "change_team",
  "POST /api/team/members/{id}/login-code": "issue_login",
};

/** Routes that let nothing more happen, with the reason. */
const FREE: Record<string, string> = {
  "POST /api/actions": "policy decides, whoever submits",
  "POST /api/actions/reject": "less happens",
  "POST /api/actions/{id}/wait": "it reads",
  "POST /api/actions/{id}/claim": "the action was approved before",
  "POST /api/actions/{id}/result": "it reports what a claimed action did",
  "POST /api/actions/{id}/cancel": "less happens",
  "POST /api/approvals/reject": "less happens",
  "POST /api/actions/{id}/reject": "less happens",
  "POST /api/global/approvals/{id}/reject": "less happens",
  "POST /api/auth/login-code": "the page gets what its caller has, and decides with a proof too",
  "POST /api/auth/prove-daemon": "the daemon proves itself",
  "POST /api/grants/preview": "it reads",
  "DELETE /api/grants/{id}": "less happens",
  "DELETE /api/sandbox/openings/{id}": "less happens",
  "DELETE /api/hub/projects/{id}/override-trust": "less happens",
  "POST /api/hooks/{host}": "policy decides",
  "POST /api/hooks/runs/{ticket}": "the action was approved before",
  "POST /api/hooks/runs/{ticket}/result": "it reports what a started action did",
  "POST /api/policy/test": "it reads",
  "POST /api/doctor/runs": "it reads",
  "POST /api/doctor/repairs": "it only puts gate in front of agents, and closes gate's own files",
  "POST /api/retention/gc": "a person accepted the retention, and nothing that is needed goes",
  "POST /api/approval-routes/test": "it reads",
  "POST /api/policy/replay": "it reads",
  "DELETE /api/agent-monitor/ports/{pid}": "less runs",
  "POST /api/notifications/test": "a person accepted its receiver, and a message decides nothing",
  "POST /api/notifications/retry": "a person accepted its receiver, and a message decides nothing",
  "DELETE /api/notifications/deliveries/{id}": "less happens",
  "POST /api/notifications/receivers": "the change of config.json waits for a person's proof",
  "PUT /api/notifications/receivers/{id}": "the change of config.json waits for a person's proof",
  "DELETE /api/notifications/receivers/{id}": "the change of config.json waits for a proof",
  "POST /api/remediation/assess": "it reads",
  "POST /api/remediation/evaluate-policy": "it reads",
  "POST /api/remediation/recommend": "it reads",
  "POST /api/policy/suggest": "it reads",
  "POST /api/proof/passkey-options": "it prepares; `set` asks for the proof",
  "POST /api/sessions": "policy decides on everything in it",
  "POST /api/sessions/{id}/end": "less happens",
  "PUT /api/sessions/{id}/viewed": "it is a person's own mark and decides nothing",
  "POST /api/workspaces": "a workspace is a name for a set of projects",
  "DELETE /api/workspaces/{id}": "the projects stay",
  "DELETE /api/workspaces/{id}/projects/{project_id}": "the project stays",
  "POST /mcp": "its tools call the routes of this table with an agent's rights",
  "DELETE /mcp": "it ends a connection",
};

const operations = listOperations(createRoutes().routes)
  .filter(({ method }) => method !== "GET")
  .map(({ method, path }) => `${method} ${path}`);

test("every route that changes something is in exactly one of the three tables", () => {
  const listed = [PROVEN, BY_EFFECT, FREE].flatMap((table) => Object.keys(table));
  expect(operations.filter((one) => !listed.includes(one))).toEqual([]);
  expect(new Set(listed).size).toBe(listed.length);
});

let gate: TestGate;
let given: Given;

beforeAll(async () => {
  gate = await createTestGate({
    policies: { defaultEffect: "allow", askPaths: [{ pattern: "held/**" }] },
  });
  const send = sendTo(gate);
  const submit = async (path: string) =>
    (await gate.project.actions.submit(
      { tool: "write_file", input: { path, content: "x" } },
      testCaller("agent"),
    )).action;
  const [held, done, undone] = [await submit("held/a"), await submit("b"), await submit("c")];
  await send("POST", `/api/actions/${undone.id}/rollback`, {});
  await gate.daemon.projects.register(emptyProject(), testCaller("reviewer"));
  expect((await enrol(send, withPassphrase())).status).toBe(200);
  given = { held: held.id, done: done.id, undone: undone.id, session: done.session_id };
  return () => gate.close();
});

/** A project without any action, so that nothing but the proof is in the way of its removal. */
function emptyProject(): string {
  gate.write("../empty/gate.config.json", JSON.stringify({ id: "empty" }));
  return `${gate.root}/../empty`;
}

describe("a route that lets more happen asks for its proof, and does nothing without", () => {
  test.each(Object.entries(PROVEN))("%s", async (route, [verb, body, id]) => {
    const [method, template] = route.split(" ") as [string, string];
    const path = template.replace("{id}", id?.(given) ?? "");
    const partial = path.endsWith("partial") ? { action_ids: [given.done] } : {};
    const query = /\/(?:actions|sessions)\//.test(path) ? "?project=test" : "";
    const sent = method === "DELETE" ? undefined : { ...body, ...partial };
    const before = (await gate.audit()).length;
    const answer = await gate.request(method, `${path}${query}`, sent);
    const problem = await answer.json();
    expect([answer.status, problem.code, problem.challenge?.verb]).toEqual([
      403,
      "proof_required",
      verb,
    ]);
    expect((await gate.audit()).length).toBe(before);
  });

  test("an agent's credential reaches none of them", async () => {
    const { isAllowed } = await import("../../../server/auth/scopes.ts");
    const all = [...Object.keys(PROVEN), ...Object.keys(BY_EFFECT)];
    // Registering a folder with a config of its own is judged there.
    for (const route of all.filter((one) => one !== "POST /api/hub/projects")) {
      const [method, path] = route.split(" ") as [string, string];
      expect([route, isAllowed("agent", method, path.replace(/\{\w+\}/g, "x"))]).toEqual([
        route,
        false,
      ]);
      expect([route, isAllowed("viewer", method, path.replace(/\{\w+\}/g, "x"))]).toEqual([
        route,
        false,
      ]);
    }
  });
});

describe("a route that lets nothing more happen asks for none", () => {
  test.each(Object.keys(FREE).filter((route) => route.includes("/api/")))("%s", async (route) => {
    const [method, template] = route.split(" ") as [string, string];
    const path = template.replace("{id}", given.done).replace("{project_id}", "empty")
      .replace("{host}", "claude-code");
    const sent = method === "DELETE" ? undefined : {};
    const answer = await gate.request(method, path, sent);
    const { code } = await answer.json();
    expect(code).not.toBe("proof_required");
  });
});
