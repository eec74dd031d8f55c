import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { identify, OWN_PID } from "../../../server/runtime/processes.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";
import { SPEAK } from "../hooks/stage.ts";

type Json = Record<string, unknown>;

const POLICIES = {
  defaultEffect: "allow" as const,
  askPaths: ["held/**"],
  askCommands: ["printf"],
};
const UNKNOWN = "01890000-0000-7000-8000-000000000000";

let gate: TestGate;
let alice: Agent;
let bob: Agent;

/** One agent with a session of its own. */
interface Agent {
  session: string;
  secret: string;
  ask: (method: string, path: string, body?: unknown) => Promise<Answer>;
  submit: (tool: string, input: Json) => Promise<Json>;
}

interface Answer {
  status: number;
  // deno-lint-ignore no-explicit-any
  body: any;
}

async function request(
  secret: string | null,
  [method, path, body]: [method: string, path: string, body?: unknown],
): Promise<Answer> {
  const headers: Record<string, string> = secret === null ? {} : { "x-gate-session": secret };
  const response = await gate.request(method, path, body, "agent", headers);
  return { status: response.status, body: await response.json() };
}

async function openAgent(input: Json = {}): Promise<Agent> {
  const { body } = await request(null, ["POST", "/api/sessions", { agent: "codex", ...input }]);
  const { id, session_secret: secret } = body;
  const ask: Agent["ask"] = (...call) => request(secret, call);
  const submit = async (tool: string, given: Json) =>
    (await ask("POST", "/api/actions", { tool, input: given, session_id: id })).body;
  return { session: id, secret, ask, submit };
}

beforeEach(async () => {
  gate = await createTestGate({ policies: POLICIES });
  alice = await openAgent();
  bob = await openAgent();
});

/** The requests that an agent could try on another's session and its actions. */
const TRIES: Record<string, (of: Ids) => [method: string, path: string, body?: unknown]> = {
  "reads an action": ({ done }) => ["GET", `/api/actions/${done}`],
  "reads it with the project": ({ done }) => ["GET", `/api/actions/${done}?project=test`],
  "reads an action's status": ({ held }) => ["GET", `/api/actions/${held}/status`],
  "waits for an action": ({ done }) => ["POST", `/api/actions/${done}/wait`, { timeout_ms: 0 }],
  "claims an approved command": ({ command }) => ["POST", `/api/actions/${command}/claim`, {}],
  "reports a result": ({ running, claim }) => [
    "POST",
    `/api/actions/${running}/result`,
    { claim_id: claim, exit_code: 0, output: "all tests pass", truncated: false, duration_ms: 1 },
  ],
  "cancels a held action": ({ held }) => ["POST", `/api/actions/${held}/cancel`, {}],
  "reads a session": ({ session }) => ["GET", `/api/sessions/${session}`],
  "lists its actions": ({ session }) => ["GET", `/api/sessions/${session}/actions`],
  "reads its rollback state": ({ session }) => ["GET", `/api/sessions/${session}/status`],
  "ends a session": ({ session }) => ["POST", `/api/sessions/${session}/end`, {}],
  "submits in its name": ({ session }) => [
    "POST",
    "/api/actions",
    { tool: "write_file", input: { path: "forged.txt", content: "x" }, session_id: session },
  ],
  "asks for its grants": ({ session }) => [
    "POST",
    "/api/policy/test",
    { command: "printf x", session_id: session },
  ],
  "rolls an action back in its name": ({ session, done }) => [
    "POST",
    "/api/actions",
    { tool: "rollback", input: { action_id: done }, session_id: session },
  ],
};

interface Ids {
  session: string;
  done: string;
  held: string;
  command: string;
  running: string;
  claim: string;
}

/** Alice's actions: one done, one held, one command approved, one running. */
async function actionsOfAlice(): Promise<Ids> {
  const done = await alice.submit("write_file", { path: "a.txt", content: "hers" });
  const held = await alice.submit("write_file", { path: "held/a.txt", content: "hers" });
  const command = await alice.submit("run_command", { command: "printf one" });
  const running = await alice.submit("run_command", { command: "printf two" });
  for (const { id } of [command, running]) {
    expect((await gate.request("POST", `/api/actions/${id}/approve`, {})).status).toBe(200);
  }
  const claimed = await alice.ask("POST", `/api/actions/${running.id}/claim`, {});
  expect(claimed.status).toBe(200);
  return {
    session: alice.session,
    claim: claimed.body.claim_id,
    done: done.id as string,
    held: held.id as string,
    command: command.id as string,
    running: running.id as string,
  };
}

describe("an agent that is not", () => {
  test.each(Object.entries(TRIES))("the session's own: %s", async (_, attempt) => {
    const ids = await actionsOfAlice();
    const unknown: Ids = {
      session: UNKNOWN,
      done: UNKNOWN,
      held: UNKNOWN,
      command: UNKNOWN,
      running: UNKNOWN,
      claim: ids.claim,
    };
    const before = await gate.audit();
    const secrets = {
      "another's": bob.secret,
      none: null,
      empty: "",
      "a guess": "A".repeat(43),
      "the session's id": alice.session,
      "two at once": `${bob.secret}, ${alice.secret}`,
    };
    for (const [which, secret] of Object.entries(secrets)) {
      const refused = await request(secret, attempt(ids));
      const nothing = await request(secret, attempt(unknown));
      expect(refused.status, which).toBe(404);
      // The answer does not say that the session or the action exists.
      const plain = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID");
      expect(plain(JSON.stringify(refused.body))).toBe(plain(JSON.stringify(nothing.body)));
    }
    expect(await gate.audit()).toEqual(before);
    expect(existsSync(join(gate.root, "forged.txt"))).toBe(false);
  });

  test.each(Object.entries(TRIES))("the owner keeps its rights: %s", async (_, attempt) => {
    const answer = await request(alice.secret, attempt(await actionsOfAlice()));
    expect([200, 201]).toContain(answer.status);
  });

  test("a rollback in its own session does not reach another's action", async () => {
    const { done } = await actionsOfAlice();
    const asked = (action_id: string) =>
      bob.ask("POST", "/api/actions", { tool: "rollback", input: { action_id } });
    const { status, body } = await asked(done);
    expect([status, body.code]).toEqual([404, "not_found"]);
    expect((await asked(UNKNOWN)).body).toEqual({
      ...body,
      detail: body.detail.replace(done, UNKNOWN),
    });
  });

  test("an equal submission of another session is an action of its own", async () => {
    const [hers, his] = await Promise.all(
      [alice, bob].map((one) => one.submit("write_file", { path: "held/a.txt", content: "same" })),
    );
    expect(hers!.status).toBe("pending");
    expect(his!.id).not.toBe(hers!.id);
    expect((await bob.ask("GET", `/api/actions/${hers!.id}`)).status).toBe(404);
  });

  test("a repeated request with another's Idempotency-Key gets nothing of it", async () => {
    const { command } = await actionsOfAlice();
    const send = async (secret: string, path: string, body: unknown) => {
      const headers = { "x-gate-session": secret, "idempotency-key": "k" };
      const response = await gate.request("POST", path, body, "agent", headers);
      return { status: response.status, body: await response.json() };
    };
    const claim = `/api/actions/${command}/claim`;
    expect((await send(alice.secret, claim, {})).status).toBe(200);
    expect((await send(bob.secret, claim, {})).status).toBe(404);
    const headers = { "idempotency-key": "open" };
    const open = async () => {
      const answer = await gate.request("POST", "/api/sessions", {}, "agent", headers);
      return await answer.json();
    };
    const answers = [...await Promise.all([open(), open()]), await open()];
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ session_secret }) => session_secret !== undefined).length).toBe(1);
  });

  test("it sees that another works on its file, and not how", async () => {
    await alice.submit("write_file", { path: "held/a.txt", content: "hers alone" });
    const { id } = await bob.submit("write_file", { path: "held/a.txt", content: "his" });
    const { body } = await bob.ask("GET", `/api/actions/${id}`);
    expect(body.conflicts).toMatchObject([{ kind: "both_hold", command: null, diff: null }]);
    expect(JSON.stringify(body)).not.toContain("hers alone");
    const seen = await (await gate.request("GET", `/api/actions/${id}`)).json();
    expect(JSON.stringify(seen)).toContain("hers alone");
  });
});

describe("the secret of a session", () => {
  test("is kept as a digest alone, and outlasts the daemon", async () => {
    const { done } = await actionsOfAlice();
    const rows = await gate.project.ledger.all("SELECT * FROM sessions");
    expect(JSON.stringify(rows)).not.toContain(alice.secret);
    expect(JSON.stringify(await gate.audit())).not.toContain(alice.secret);
    expect((await alice.ask("GET", `/api/sessions/${alice.session}`)).body)
      .not.toHaveProperty("session_secret");
    await gate.reopen();
    expect((await alice.ask("GET", `/api/actions/${done}`)).status).toBe(200);
    expect((await bob.ask("GET", `/api/actions/${done}`)).status).toBe(404);
  });

  test("names the session of a submission", async () => {
    const body = { tool: "write_file", input: { path: "a", content: "" } };
    expect((await alice.ask("POST", "/api/actions", body)).body.session_id).toBe(alice.session);
    expect((await request("A".repeat(43), ["POST", "/api/actions", body])).status).toBe(404);
    await alice.ask("POST", `/api/sessions/${alice.session}/end`, {});
    expect((await alice.ask("POST", "/api/actions", body)).status).toBe(404);
  });

  test.each(["viewer", "reviewer"] as const)("is not asked of a %s", async (scope) => {
    const { held, session } = await actionsOfAlice();
    for (const path of [`/api/actions/${held}`, `/api/sessions/${session}/actions`]) {
      expect((await gate.request("GET", path, undefined, scope)).status).toBe(200);
    }
  });

  test("agents that open no session share one, which no agent with a session reaches", async () => {
    const body = { tool: "write_file", input: { path: "held/x", content: "" } };
    const { body: { id } } = await request(null, ["POST", "/api/actions", body]);
    expect((await request(null, ["GET", `/api/actions/${id}`])).status).toBe(200);
    expect((await bob.ask("GET", `/api/actions/${id}`)).status).toBe(404);
    // Nobody slips a session of his own under those who open none.
    const posed = await openAgent({ agent: "agent", host: "unknown", client: "none" });
    const next = await request(null, ["POST", "/api/actions", body]);
    expect(next.body.session_id).not.toBe(posed.session);
  });
});

describe("a process that died without ending its session", () => {
  const OWN = { pid: OWN_PID, start_time: identify(OWN_PID)!.start_time };
  const DEAD = { pid: 999_999_999, start_time: "boot:1" };
  const like = { host: "codex", client: "codex 1" };

  test.each<[string, Json, Json, number]>([
    ["leaves it to a later one of its host and folder", DEAD, { process: OWN }, 200],
    ["leaves nothing to another host", DEAD, { process: OWN, host: "cursor" }, 404],
    ["leaves nothing to another agent", DEAD, { process: OWN, agent: "cursor" }, 404],
    ["leaves nothing to a session without a process", DEAD, {}, 404],
    ["leaves nothing to a dead one", DEAD, { process: DEAD }, 404],
    ["keeps what is its own while it lives", OWN, { process: OWN }, 404],
  ])("%s", async (_, first, second, status) => {
    const left = await openAgent({ ...like, process: first });
    const { id } = await left.submit("write_file", { path: "held/a", content: "x" });
    gate.clock.advance(1);
    const later = await openAgent({ ...like, ...second });
    expect((await later.ask("POST", `/api/actions/${id}/wait`, { timeout_ms: 0 })).status)
      .toBe(status);
  });

  test("leaves nothing to one that was there before, nor when it ended its session", async () => {
    const before = await openAgent({ ...like, process: OWN });
    gate.clock.advance(1);
    const left = await openAgent({ ...like, process: DEAD });
    const { id } = await left.submit("write_file", { path: "a", content: "x" });
    expect((await before.ask("GET", `/api/actions/${id}`)).status).toBe(404);
    await left.ask("POST", `/api/sessions/${left.session}/end`, {});
    gate.clock.advance(1);
    const later = await openAgent({ ...like, process: OWN });
    expect((await later.ask("GET", `/api/actions/${id}`)).status).toBe(404);
    expect((await left.ask("GET", `/api/actions/${id}`)).status).toBe(200);
  });
});

describe("hooks", () => {
  const speak = SPEAK["claude-code"]!;
  const call = (session: string, command: string) =>
    speak.before("Bash", { command }, { cwd: gate.root, session, key: "k" });
  const post = (secret: string | null, body: unknown) =>
    request(secret, ["POST", "/api/hooks/claude-code?wait_ms=0", body]);

  test("tell the sessions of a host apart by the id that only the host knows", async () => {
    await post(null, call("s-1", "ls"));
    await post(null, call("s-1", "pwd"));
    await post(null, call("s-2", "ls"));
    const { items } = await gate.project.sessions.list({ host: "claude-code" });
    expect(items.map(({ action_count }) => action_count)).toEqual([1, 2]);
    for (const { id } of items) {
      expect((await bob.ask("GET", `/api/sessions/${id}`)).status).toBe(404);
      expect((await request(null, ["GET", `/api/sessions/${id}`])).status).toBe(404);
    }
    await gate.reopen();
    await post(null, call("s-2", "pwd"));
    expect((await gate.project.sessions.list({ host: "claude-code" })).items.length).toBe(2);
  });

  test("do not record in a session that another opened under the same name", async () => {
    const posed = await openAgent({
      agent: "claude-code",
      host: "claude-code",
      client: "hook s-1",
    });
    await post(posed.secret, call("s-1", "ls"));
    expect((await posed.ask("GET", `/api/sessions/${posed.session}/actions`)).body.items)
      .toEqual([]);
  });
});
