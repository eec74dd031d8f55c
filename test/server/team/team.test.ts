import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { enrol, sendTo, withPassphrase } from "../proof/person.ts";
import { kept } from "./kept_rows.ts";

const fileOf = (gate: TestGate) => join(gate.home, "team.json");

async function ask(gate: TestGate, method: string, path: string, body?: unknown, id = "reviewer") {
  const response = await gate.request(method, path, body, testCaller("reviewer", id));
  // deno-lint-ignore no-explicit-any
  return { status: response.status, body: await response.json() as any };
}

const members = async (gate: TestGate) =>
  (await ask(gate, "GET", "/api/team/members")).body.items.map(({ id }: { id: string }) => id);

const eventsOf = async (gate: TestGate) =>
  (await gate.audit()).filter(({ type }) => type.startsWith("member."))
    .map(({ type, actor, data }) => [type, actor.id, data.member_id, data.role]);

test("a member is added, listed, changed and removed, each time with an event", async () => {
  const gate = await createTestGate();
  const ann = { id: "ann-muller", name: "Ann Müller", role: "admin", email: null, channels: [] };
  expect(await ask(gate, "POST", "/api/team/members", { name: "Ann Müller", role: "admin" }))
    .toEqual({ status: 201, body: ann });
  const ben = { id: "ben", name: "Ben", email: "ben@example.org", channels: [] };
  expect(await ask(gate, "POST", "/api/team/members", ben))
    .toEqual({ status: 201, body: { ...ben, role: "reviewer" } });
  expect((await ask(gate, "GET", "/api/team/members")).body)
    .toEqual({ items: [ann, { ...ben, role: "reviewer" }] });
  expect(await ask(gate, "PATCH", "/api/team/members/ben", { role: "viewer", email: null }))
    .toEqual({ status: 200, body: { ...ben, role: "viewer", email: null } });
  expect(await ask(gate, "DELETE", "/api/team/members/ben", undefined, "ann-muller"))
    .toMatchObject({ status: 200, body: { id: "ben" } });
  expect(await members(gate)).toEqual(["ann-muller"]);
  expect(await eventsOf(gate)).toEqual([
    ["member.added", "reviewer", "ann-muller", "admin"],
    ["member.added", "reviewer", "ben", "reviewer"],
    ["member.changed", "reviewer", "ben", "viewer"],
    ["member.removed", "ann-muller", "ben", "viewer"],
  ]);
  expect(JSON.parse(readFileSync(fileOf(gate), "utf8"))).toEqual({ version: "1", members: [ann] });
  await gate.reopen();
  expect(await members(gate)).toEqual(["ann-muller"]);
  expect((await eventsOf(gate)).length).toBe(4);
});

test("a project that opens later records every change of the team, once", async () => {
  const gate = await createTestGate();
  await ask(gate, "POST", "/api/team/members", { name: "Ann" });
  gate.write("../other/gate.config.json", JSON.stringify({ id: "other" }));
  await gate.daemon.projects.register(`${gate.root}/../other`, testCaller("reviewer"));
  await gate.reopen();
  const other = await gate.daemon.projects.get("other");
  const { events } = JSON.parse(
    await (await gate.request("GET", "/api/audit/export?format=json&project=other")).text(),
  );
  expect(other.id).toBe("other");
  expect(events.filter(({ type }: { type: string }) => type === "member.added").length).toBe(1);
});

describe("bad input changes nothing", () => {
  test.each<[string, string, unknown, number, string]>([
    ["POST", "/api/team/members", {}, 400, "name"],
    ["POST", "/api/team/members", { name: "" }, 400, "visible characters"],
    ["POST", "/api/team/members", { name: "x\u202ey" }, 400, "visible characters"],
    ["POST", "/api/team/members", { name: "日本" }, 400, 'give an "id"'],
    ["POST", "/api/team/members", { name: "A", id: "../x" }, 400, "letters, digits"],
    ["POST", "/api/team/members", { name: "A", role: "owner" }, 400, "role"],
    ["POST", "/api/team/members", { name: "A", email: "nobody" }, 400, "e-mail"],
    ["POST", "/api/team/members", { name: "A", password: "x" }, 400, "password"],
    ["POST", "/api/team/members", { name: "Ann" }, 409, "the id is taken"],
    ["POST", "/api/team/members", { name: "A", id: "ANN" }, 409, "the id is taken"],
    ["POST", "/api/team/members", { name: "R", id: "reviewer" }, 409, "nobody would be an admin"],
    ["PATCH", "/api/team/members/ann", {}, 400, "at least one field"],
    ["PATCH", "/api/team/members/ann", { id: "bob" }, 400, "id"],
    ["PATCH", "/api/team/members/none", { name: "X" }, 404, 'Cannot find member "none"'],
    ["DELETE", "/api/team/members/none", undefined, 404, "gate team list"],
    ["DELETE", "/api/team/members/%00", undefined, 404, "Cannot find member"],
    ["POST", "/api/team/members/none/login-code", {}, 404, 'Cannot find member "none"'],
    ["POST", "/api/team/accept", { ...NO_VERSION, x: 1 }, 400, "x"],
    ["POST", "/api/team/accept", {}, 400, "items_sha256"],
    ["POST", "/api/team/accept", NO_VERSION, 409, "not the version that you have seen"],
  ])("%s %s %j", async (method, path, body, status, part) => {
    const gate = await createTestGate();
    await ask(gate, "POST", "/api/team/members", { name: "Ann" });
    const before = readFileSync(fileOf(gate), "utf8");
    const answer = await ask(gate, method, path, body);
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(part)]);
    expect(readFileSync(fileOf(gate), "utf8")).toBe(before);
    expect((await eventsOf(gate)).length).toBe(1);
  });
});

const NO_VERSION = { items_sha256: "0".repeat(64), number: 1 };

test("only an admin changes the team; a reviewer and a stranger do not", async () => {
  const gate = await createTestGate();
  await ask(gate, "POST", "/api/team/members", { name: "Ann" });
  for (const [id, part] of [["ann", "your role is reviewer"], ["eve", "you are not in the team"]]) {
    for (
      const [method, path] of [
        ["POST", "/api/team/members"],
        ["PATCH", "/api/team/members/ann"],
        ["DELETE", "/api/team/members/ann"],
        ["POST", "/api/team/members/ann/login-code"],
        ["POST", "/api/team/accept"],
      ] as const
    ) {
      const body = method === "DELETE"
        ? undefined
        : method === "PATCH" || /members$/.test(path)
        ? { name: "X" }
        : /accept$/.test(path)
        ? NO_VERSION
        : {};
      const answer = await ask(gate, method, path, body, id);
      expect([answer.status, answer.body.detail]).toEqual([403, expect.stringContaining(part!)]);
    }
  }
  expect(await members(gate)).toEqual(["ann"]);
});

describe("team.json edited by hand", () => {
  const TEXT = `{
  // the people of the shop
  "version": "1",
  "shift": "night",
  "members": [
    { "id": "ann", "name": "Ann", "role": "admin", "phone": "555", "channels": [] },
    { "id": "ben", "name": "Ben", "role": "viewer" }
  ]
}
`;

  test("is in force at once where no key is enrolled, and keeps what gate does not know", async () => {
    const gate = await createTestGate();
    writeFileSync(fileOf(gate), TEXT);
    expect(await members(gate)).toEqual(["ann", "ben"]);
    expect(await eventsOf(gate)).toEqual([
      ["member.added", "gate", "ann", "admin"],
      ["member.added", "gate", "ben", "viewer"],
    ]);
    await ask(gate, "PATCH", "/api/team/members/ben", { role: "reviewer" });
    await ask(gate, "POST", "/api/team/members", { name: "Cy" });
    const text = readFileSync(fileOf(gate), "utf8");
    for (const kept of ["// the people of the shop", '"shift": "night"', '"phone": "555"']) {
      expect(text).toContain(kept);
    }
    expect(await members(gate)).toEqual(["ann", "ben", "cy"]);
    await ask(gate, "DELETE", "/api/team/members/ann", undefined);
    expect(readFileSync(fileOf(gate), "utf8")).toContain('"shift": "night"');
  });

  test.each([
    ['{ "members": [', "team.json:1:"],
    ['{ "members": [{ "id": "ann" }] }', "members.0.name"],
    ['{ "members": [{ "id": "a", "name": "A", "role": "boss" }] }', "members.0.role"],
    ['{ "members": {} }', "members"],
    ["", "the file is empty"],
    [
      '{ "members": [{ "id": "a", "name": "A", "role": "viewer" }, { "id": "A", "name": "B", "role": "viewer" }] }',
      '"A" is there twice',
    ],
  ])("a broken file is a clear problem, and the last team stays: %s", async (text, part) => {
    const gate = await createTestGate();
    await ask(gate, "POST", "/api/team/members", { name: "Ann" });
    writeFileSync(fileOf(gate), text);
    expect(await members(gate)).toEqual(["ann"]);
    expect((await ask(gate, "GET", "/api/team")).body.problem).toContain(part);
    expect((await gate.daemon.status()).problems.join()).toContain(part);
    const refused = await ask(gate, "POST", "/api/team/members", { name: "Ben" });
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining(part)]);
    expect(readFileSync(fileOf(gate), "utf8")).toBe(text);
  });

  test("of two changes at once none is lost", async () => {
    const gate = await createTestGate();
    const names = Array.from({ length: 20 }, (_, i) => `m${i}`);
    const answers = await Promise.all(
      names.map((name) => ask(gate, "POST", "/api/team/members", { name })),
    );
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(new Set(await members(gate))).toEqual(new Set(names));
  });
});

describe("where a passphrase is enrolled", () => {
  async function proven() {
    const gate = await createTestGate();
    const send = sendTo(gate);
    const person = withPassphrase();
    await enrol(send, person);
    // deno-lint-ignore no-explicit-any
    const signed = async (method: string, path: string, body: any) => {
      const first = await gate.request(method, path, body);
      const problem = await first.json();
      expect([first.status, problem.code]).toEqual([403, "proof_required"]);
      const caller = { ...testCaller("reviewer"), proof: person.sign(problem.challenge) };
      const answer = await gate.request(method, path, body, caller);
      return { status: answer.status, body: await answer.json() };
    };
    return { gate, signed };
  }

  test("every change is signed, and survives a restart", async () => {
    const { gate, signed } = await proven();
    expect((await signed("POST", "/api/team/members", { name: "Ann" })).status).toBe(201);
    expect((await signed("PATCH", "/api/team/members/ann", { role: "admin" })).status).toBe(200);
    expect((await signed("POST", "/api/team/members/ann/login-code", {})).status).toBe(201);
    await gate.reopen();
    expect(await members(gate)).toEqual(["ann"]);
    expect((await ask(gate, "GET", "/api/team")).body.problem).toBe(null);
    const [added] = (await gate.audit()).filter(({ type }) => type === "member.added");
    expect(added!.data.signed).toMatchObject({ challenge: { verb: "change_team" } });
    const verified = await (await gate.request("GET", "/api/audit/verify")).json();
    expect(verified).toMatchObject({ ok: true });
    expect((await signed("DELETE", "/api/team/members/ann", undefined)).status).toBe(200);
    expect(await members(gate)).toEqual([]);
  });

  test("a change by hand waits for an acceptance; what it takes away holds at once", async () => {
    const { gate, signed } = await proven();
    await signed("POST", "/api/team/members", { name: "Ann", role: "admin" });
    await signed("POST", "/api/team/members", { name: "Ben" });
    const document = JSON.parse(readFileSync(fileOf(gate), "utf8"));
    document.members[0].role = "viewer";
    document.members[1] = { id: "eve", name: "Eve", role: "admin" };
    writeFileSync(fileOf(gate), JSON.stringify(document));
    const { body } = await ask(gate, "GET", "/api/team/members");
    expect(body.items.map(({ id, role }: Record<string, string>) => [id, role]))
      .toEqual([["ann", "viewer"]]);
    expect(gate.daemon.team.roleOf("eve")).toBe(null);
    expect((await ask(gate, "GET", "/api/team")).body.problem).toContain("changed by hand");
    const refused = await ask(gate, "POST", "/api/team/members", { name: "Cy" });
    expect([refused.status, refused.body.code]).toEqual([409, "conflict"]);
    const { differences, ...seen } = (await ask(gate, "GET", "/api/team")).body.waiting;
    expect(differences).toEqual([
      { kind: "removed", id: "ben", text: "" },
      { kind: "changed", id: "ann", text: 'role: "admin" → "viewer"' },
      {
        kind: "added",
        id: "eve",
        text: 'name: "Eve"; role: "admin"; email: null; channels: []',
      },
    ]);
    // Another program adds someone after the person has looked.
    document.members.push({ id: "mallory", name: "Mallory", role: "admin" });
    writeFileSync(fileOf(gate), JSON.stringify(document));
    const stale = await ask(gate, "POST", "/api/team/accept", seen);
    expect([stale.status, stale.body.detail])
      .toEqual([409, expect.stringContaining("not the version that you have seen")]);
    expect(gate.daemon.team.roleOf("mallory")).toBe(null);
    document.members.pop();
    writeFileSync(fileOf(gate), JSON.stringify(document));
    expect((await signed("POST", "/api/team/accept", seen)).status).toBe(200);
    expect(await members(gate)).toEqual(["ann", "eve"]);
    expect((await ask(gate, "GET", "/api/team")).body).toMatchObject({
      problem: null,
      waiting: null,
    });
  });

  test("an older or invented team in gate.db is not believed", async () => {
    const { gate, signed } = await proven();
    await signed("POST", "/api/team/members", { name: "Ann" });
    await gate.reopen(() => kept.save(gate.home));
    const rows = kept.saved;
    await signed("POST", "/api/team/members", { name: "Ben" });
    await gate.reopen(() => kept.restore(gate.home, rows));
    expect((await ask(gate, "GET", "/api/team")).body.problem).toContain("no person's proof");
    expect(gate.daemon.team.roleOf("ann")).toBe(null);
    await gate.reopen(() => kept.forge(gate.home, { id: "eve", name: "Eve", role: "admin" }));
    expect(gate.daemon.team.roleOf("eve")).toBe(null);
    const { differences, ...seen } = (await ask(gate, "GET", "/api/team")).body.waiting;
    // Nothing is known of what a person signed, so everything is new.
    expect(differences).toMatchObject([{ kind: "added", id: "ann" }, { kind: "added", id: "ben" }]);
    expect((await signed("POST", "/api/team/accept", seen)).status).toBe(200);
    expect(await members(gate)).toEqual(["ann", "ben"]);
  });
});

test("a home without a team has no file", async () => {
  const gate = await createTestGate();
  expect(await members(gate)).toEqual([]);
  expect(existsSync(fileOf(gate))).toBe(false);
  expect((await ask(gate, "GET", "/api/team/whoami")).body)
    .toEqual({ id: "reviewer", name: "reviewer", role: "admin", is_member: false });
});
