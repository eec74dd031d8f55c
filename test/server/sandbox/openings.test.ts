import Sqlite from "libsql";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { engineOnce } from "../../../server/sandbox/engine.ts";
import { whyNotOpenable } from "../../../server/sandbox/openings.ts";
import type { OpenWall } from "../../../server/sandbox/schema.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { enrol, type Person, sendTo, withPassphrase } from "../proof/person.ts";
import { connectAgent } from "./agent.ts";
import { LANDLOCK } from "./landlock_stage.ts";
import { ENGINE } from "./stage.ts";

const server = createServer((_, answer) => answer.end("SERVED"));
const old_home = process.env.HOME;
let port = 0;
let home = "";

beforeAll(async () => {
  home = createTempFolder("home");
  process.env.HOME = home;
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(home, name), text);
  for (const name of ["data", "other/.git"]) mkdirSync(join(home, name), { recursive: true });
  symlinkSync(join(home, ".netrc"), join(home, "link"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as { port: number }).port;
});
afterAll(() => {
  process.env.HOME = old_home;
  server.close();
});

const FILES = { ".toolrc": "REGISTRY=one\n", ".netrc": "KEY=SECRET\n", ".env": "KEY=SECRET\n" };

const fetches = () =>
  "python3 -c \"import os, urllib.request as r; os.environ.pop('no_proxy', 0)\n" +
  "os.environ.pop('NO_PROXY', 0)\n" +
  `try: print(r.urlopen('http://127.0.0.1:${port}/').read())\n` +
  'except Exception as e: print(e)"';
const opensHost = (): OpenWall => ({ kind: "host", host: `127.0.0.1:${port}` });

async function openGate({ sandbox = engineOnce(), more = {} } = {}) {
  const policies = { ...policyTemplate("balanced"), ...more };
  const gate = await createTestGate({ policies, sandbox });
  const person = withPassphrase();
  await enrol(sendTo(gate), person);
  return { gate, person, agent: await connectAgent(gate) };
}

/** Sends an approval, with the person's proof of the body that they saw. */
async function approve(
  gate: TestGate,
  person: Person,
  { id, open, seen = open }: { id: string; open: unknown; seen?: unknown },
) {
  const { digest: expected_digest } = await (await gate.request("GET", `/api/actions/${id}`))
    .json();
  const path = `/api/actions/${id}/approve`;
  const first = await gate.request("POST", path, { expected_digest, open: seen });
  const problem = await first.clone().json();
  if (!problem.challenge) return { status: first.status, body: problem };
  const proof = person.sign(problem.challenge);
  const as = { ...testCaller("reviewer"), proof };
  const answer = await gate.request("POST", path, { expected_digest, open }, as);
  return { status: answer.status, body: await answer.json() };
}

const LEAVES = { outside_sandbox: true, reason: "it needs more", wait_ms: 0 };

describe.runIf(ENGINE !== null)("a person opens a wall", () => {
  test("a host once: the command runs in the sandbox and reaches it, the next one does not", async () => {
    const { gate, person, agent } = await openGate();
    const held = await agent.run(fetches(), LEAVES);
    expect(held).toMatchObject({ status: "pending", decision: { sandbox: null } });
    const open = { walls: [opensHost()], for: "once" as const };
    expect((await approve(gate, person, { id: held.action_id, open })).status).toBe(200);
    const done = await agent.end(held.action_id);
    expect(done).toMatchObject({
      execution: "succeeded",
      output: "b'SERVED'\n",
      decision: { sandbox: { engine: "bubblewrap", hosts: [`127.0.0.1:${port}`] } },
    });
    const audit = (await gate.audit()).filter(({ action_id }) => action_id === held.action_id);
    const approved = audit.find(({ type }) => type === "action.approved")!;
    expect(approved.data).toMatchObject({ asked: { open }, proof: { kind: "passphrase" } });
    expect(audit.find(({ type }) => type === "wall.opened")!.data).toMatchObject(open);
    expect(audit.find(({ type }) => type === "action.started")!.data.sandbox)
      .toMatchObject({ hosts: [`127.0.0.1:${port}`] });
    expect(audit.find(({ type }) => type === "action.finished")!.data.asked_hosts)
      .toMatchObject([{ host: "127.0.0.1", port, answer: "connected" }]);
    const next = await agent.run(fetches());
    expect(next).toMatchObject({ decision: { sandbox: { engine: "bubblewrap" } } });
    expect(next.output).not.toContain("SERVED");
    expect(await (await gate.request("GET", "/api/audit/verify")).json()).toMatchObject({
      ok: true,
    });
  });

  test("a host for the session: later commands reach it, other sessions do not, and it closes", async () => {
    const { gate, person, agent } = await openGate();
    const held = await agent.run(fetches(), LEAVES);
    const open = { walls: [opensHost()], for: "session" as const };
    expect((await approve(gate, person, { id: held.action_id, open })).status).toBe(200);
    expect((await agent.end(held.action_id)).output).toBe("b'SERVED'\n");
    const later = await agent.run(fetches());
    expect(later).toMatchObject({
      output: "b'SERVED'\n",
      decision: { effect: "allow", sandbox: { hosts: [`127.0.0.1:${port}`] } },
    });
    const stranger = await connectAgent(gate);
    expect((await stranger.run(fetches())).output).not.toContain("SERVED");
    // The log tells it after a restart too.
    await gate.reopen();
    const view = await (await gate.request("GET", "/api/sandbox", undefined, "viewer")).json();
    expect(view).toMatchObject({
      engine: { name: "bubblewrap" },
      mode: "auto",
      sandbox: { network: "loopback" },
    });
    const opened = await gate.project.openings.list(
      (await (await gate.request("GET", `/api/actions/${held.action_id}`)).json()).session_id,
    );
    expect(opened).toMatchObject([{ action_id: held.action_id, walls: open.walls }]);
    const path = `/api/sandbox/openings/${opened[0]!.id}`;
    expect((await gate.request("DELETE", path, undefined, "agent")).status).toBe(403);
    expect((await gate.request("DELETE", path, undefined, "viewer")).status).toBe(403);
    expect((await gate.request("DELETE", path)).status).toBe(200);
    expect((await gate.request("DELETE", path)).status).toBe(404);
    const types = (await gate.audit()).map(({ type }) => type);
    expect(types).toContain("wall.closed");
    expect(await gate.project.openings.list(opened[0]!.session_id)).toEqual([]);
  });

  test("a file of the home folder is read and not written; a folder is written", async () => {
    const { gate, person, agent } = await openGate();
    const command = "python3 -c \"import os; h=os.environ['HOME']\n" +
      "print(open(h+'/.toolrc').read(), os.path.exists(h+'/.netrc'))\n" +
      "open(h+'/data/out', 'w').write('made')\nopen(h+'/.toolrc', 'a')\"";
    const held = await agent.run(command, LEAVES);
    const walls = [{ kind: "readable", path: "~/.toolrc" }, { kind: "writable", path: "~/data" }];
    const open = { walls, for: "once" };
    expect((await approve(gate, person, { id: held.action_id, open })).status).toBe(200);
    const done = await agent.end(held.action_id);
    expect(done.output).toContain("REGISTRY=one\n False");
    expect(done.output).toContain("Read-only file system");
    expect(done).toMatchObject({ decision: { sandbox: { readable: [join(home, ".toolrc")] } } });
    expect(readFileSync(join(home, "data/out"), "utf8")).toBe("made");
    expect(readFileSync(join(home, ".toolrc"), "utf8")).toBe("REGISTRY=one\n");
  });

  test("what a rule blocks in an opened folder stays hidden, and cannot be made there", async () => {
    const { gate, person, agent } = await openGate();
    mkdirSync(join(home, "mixed/deep"), { recursive: true });
    writeFileSync(join(home, "mixed/deep/.env"), "KEY=SECRET\n");
    const command = "python3 -c \"import os; d=os.environ['HOME']+'/mixed/'\n" +
      "open(d+'out', 'w').write('made'); open(d+'.env', 'w').write('new')\n" +
      "try: print(open(d+'deep/.env').read())\nexcept Exception as e: print(e)\"";
    const held = await agent.run(command, LEAVES);
    const open = { walls: [{ kind: "writable", path: "~/mixed" }], for: "once" };
    expect((await approve(gate, person, { id: held.action_id, open })).status).toBe(200);
    const done = await agent.end(held.action_id);
    expect(done.output).toContain("Permission denied");
    expect(done.output).not.toContain("SECRET");
    expect(readFileSync(join(home, "mixed/out"), "utf8")).toBe("made");
    expect(readFileSync(join(home, "mixed/deep/.env"), "utf8")).toBe("KEY=SECRET\n");
    expect(existsSync(join(home, "mixed/.env"))).toBe(false);
  });

  test("the proof covers which wall is open, for how long", async () => {
    const { gate, person, agent } = await openGate();
    const held = await agent.run(fetches(), LEAVES);
    const seen = { walls: [{ kind: "host", host: "seen.test" }], for: "once" };
    for (
      const open of [
        { walls: [opensHost()], for: "once" },
        { ...seen, for: "session" },
        undefined,
      ]
    ) {
      const answer = await approve(gate, person, { id: held.action_id, open, seen });
      expect(answer).toMatchObject({ status: 403, body: { code: "proof_required" } });
    }
    expect((await approve(gate, person, { id: held.action_id, open: seen })).status).toBe(200);
  });

  test.each<[string, () => unknown, RegExp]>([
    ["a blocked file", () => ({ kind: "readable", path: "~/.env" }), /a rule blocks it/],
    ["a link", () => ({ kind: "readable", path: "~/link" }), /no such file/],
    ["a folder to read", () => ({ kind: "readable", path: "~/data" }), /no such file/],
    ["a file outside the home", () => ({ kind: "readable", path: "/etc/shadow" }), /home folder/],
    ["a detour", () => ({ kind: "readable", path: "~/data/../.netrc" }), /plain path/],
    ["a file of the project", () => ({ kind: "readable", path: "ROOT/a" }), /in the project/],
    ["gate's data", () => ({ kind: "readable", path: "GATE/tokens/agent" }), /gate's data/],
    [
      "the home folder",
      () => ({ kind: "writable", path: home }),
      /home folder|gate's data|more than/,
    ],
    ["settings", () => ({ kind: "writable", path: "~/.config" }), /settings, keys or programs/],
    ["a missing folder", () => ({ kind: "writable", path: "~/none" }), /no such folder/],
    ["many hosts", () => ({ kind: "host", host: "*.test" }), /many hosts/],
    ["no host", () => ({ kind: "host", host: "http://a.test/" }), /no host/],
    ["an open host", () => ({ kind: "host", host: "open.test" }), /opens it already/],
    ["no wall", () => ({ kind: "privilege" }), /./],
  ])("%s is refused", async (_, wall, why) => {
    const { gate, person, agent } = await openGate({ more: { sandbox: { hosts: ["open.test"] } } });
    const held = await agent.run(fetches(), LEAVES);
    const text = JSON.stringify({ walls: [wall()], for: "once" })
      .replace("ROOT", gate.root).replace("GATE", gate.home);
    const answer = await approve(gate, person, { id: held.action_id, open: JSON.parse(text) });
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toMatch(why);
    const now = await (await gate.request("GET", `/api/actions/${held.action_id}`)).json();
    expect(now.status).toBe("pending");
  });

  test("what another program writes into the ledger opens nothing", async () => {
    const { gate, person, agent } = await openGate();
    const held = await agent.run(fetches(), LEAVES);
    const open = { walls: [{ kind: "host", host: "seen.test" }], for: "session" };
    await approve(gate, person, { id: held.action_id, open });
    const { session_id } = await (await gate.request("GET", `/api/actions/${held.action_id}`))
      .json();
    await gate.reopen(() => {
      const db = new Sqlite(join(gate.home, "projects", "test", "ledger.db"));
      const walls = JSON.stringify([opensHost()]);
      for (
        const [type, at] of [["action.approved", "$.asked.open.walls"], ["wall.opened", "$.walls"]]
      ) {
        db.prepare(
          `INSERT INTO audit (project_id, seq, at, session_id, action_id, type, actor, data,
              prev_hash, hash)
            SELECT project_id, (SELECT max(seq) + 1 FROM audit), at, session_id, action_id, type,
              actor, json_set(data, '$.opening_id', 'forged', '${at}', json(?)),
              (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), lower(hex(randomblob(32)))
            FROM audit WHERE type = ? AND action_id = ?`,
        ).run([walls, type, held.action_id]);
      }
      db.close();
    });
    expect(await gate.project.openings.list(session_id)).toMatchObject([{ walls: open.walls }]);
  });

  test("it never runs outside instead: without the engine it fails", async () => {
    let there = true;
    const engine = engineOnce();
    const { gate, person, agent } = await openGate({
      sandbox: async () => there ? await engine() : null,
    });
    const held = await agent.run("python3 -c \"open('ran', 'w')\"", LEAVES);
    const id = held.action_id;
    expect(held.status).toBe("pending");
    const open = { walls: [opensHost()], for: "once" };
    expect((await approve(gate, person, { id, open })).status).toBe(200);
    there = false;
    const claim = await gate.request(
      "POST",
      `/api/actions/${id}/claim`,
      { sandbox: true },
      "reviewer",
    );
    expect(claim.status).toBe(409);
    expect(existsSync(join(gate.root, "ran"))).toBe(false);
  });
});

describe.runIf(ENGINE !== null)("the card offers", () => {
  const offered = async (gate: TestGate, id: string) =>
    (await (await gate.request("GET", `/api/actions/${id}`)).json()).walls;

  test("the walls that the last run of the same command met", async () => {
    const { gate, agent } = await openGate({ more: { sandbox: { hosts: ["open.test"] } } });
    const tries = ["'/.toolrc'", "'/.e'+'nv'", "'/data/x', 'w'"].map((one) =>
      `try: open(os.environ['HOME']+${one})\nexcept Exception as e: print(e)\n`
    );
    const command = fetches().replace('"', `"import os\n${tries.join("")}`);
    expect((await agent.run(command)).output).toContain("No such file");
    const held = await agent.run(command, LEAVES);
    // A rule blocks `.env`, and no approval opens it.
    expect(await offered(gate, held.action_id)).toEqual([
      opensHost(),
      { kind: "readable", path: join(home, ".toolrc") },
      { kind: "writable", path: join(home, "data") },
    ]);
  });

  test.each<[string, OpenWall[]]>([
    ["curl -s https://a.test/x https://b.test/y", [
      { kind: "host", host: "a.test" },
      { kind: "host", host: "b.test" },
    ]],
    ["sudo make && sort ~/.toolrc ~/.missing", [{ kind: "readable", path: "~/.toolrc" }]],
    ["sudo make", []],
  ])("what %j names", async (command, walls) => {
    const { gate, agent } = await openGate();
    const held = await agent.run(command, LEAVES);
    const plain = walls.map((wall) =>
      wall.kind === "host" ? wall : { ...wall, path: wall.path.replace("~", home) }
    );
    const found: OpenWall[] = await offered(gate, held.action_id);
    expect(
      found.map((wall) =>
        wall.kind === "host" ? wall : { ...wall, path: wall.path.replace("~", home) }
      ),
    ).toEqual(plain);
  });

  test("nothing after the decision, for another tool, or when the policy turns the sandbox off", async () => {
    const { gate, person, agent } = await openGate();
    const held = await agent.run(fetches(), LEAVES);
    const open = { walls: [opensHost()], for: "once" };
    await approve(gate, person, { id: held.action_id, open });
    expect(await offered(gate, held.action_id)).toBe(null);
    const off = await openGate({ more: { sandbox: { mode: "off" } } });
    const other = await off.agent.run("sudo make", LEAVES);
    expect(await offered(off.gate, other.action_id)).toBe(null);
  });
});

test.each([["bubblewrap", null], ["landlock", "opens no single host; install bubblewrap"]])(
  "whether a host can be opened depends on the engine: %s",
  (engine, why) => {
    const found = whyNotOpenable({ kind: "host", host: "a.test" }, {
      ...{ engine, judge: () => null, policy: { network: "loopback", hosts: [] } },
      ...{ roots: ["/p"], projects: ["/p"], user_home: "/h", gate_home: "/h/.gate" },
    });
    if (why === null) expect(found).toBe(null);
    else expect(found).toContain(why);
  },
);

test.runIf(ENGINE !== null)(
  "a command whose text writes into a folder that a rule opens runs in the sandbox",
  async () => {
    const command = "echo one > ~/data/out.txt && cat ~/data/out.txt";
    const closed = await openGate();
    expect(await closed.agent.run(command, { wait_ms: 0 })).toMatchObject({
      status: "blocked",
      reason: expect.stringContaining("is outside the project"),
    });
    const { agent, gate } = await openGate({ more: { sandbox: { writable: ["~/data"] } } });
    const answer = await agent.run(command);
    expect(answer).toMatchObject({
      exit_code: 0,
      output: "one\n",
      decision: { effect: "allow", sandbox: { writable: [gate.root, "~/data"] } },
    });
    expect(readFileSync(join(home, "data/out.txt"), "utf8")).toBe("one\n");
    expect(await agent.run("echo one > ~/other/out.txt", { wait_ms: 0 }))
      .toMatchObject({ status: "blocked" });
  },
);

test.runIf(LANDLOCK !== null)("where the walls cannot be built no wall can be opened", async () => {
  const { gate, person, agent } = await openGate({ sandbox: () => Promise.resolve(LANDLOCK) });
  const held = await agent.run("pytest; cat ~/.toolrc", LEAVES);
  const open = { walls: [{ kind: "readable", path: "~/.toolrc" }], for: "once" as const };
  const offered = async () =>
    (await (await gate.request("GET", `/api/actions/${held.action_id}`)).json()).walls;
  expect(await offered()).not.toBeNull();
  writeFileSync(join(gate.root, ".env"), "KEY=1\n");
  expect(await offered()).toBeNull();
  const { status, body } = await approve(gate, person, { id: held.action_id, open });
  expect(status).toBe(400);
  expect(body.detail).toContain("the sandbox of this command cannot be built");
  expect(body.detail).toContain(".env");
});

test("without an engine no wall can be opened", async () => {
  const { gate, person, agent } = await openGate({ sandbox: () => Promise.resolve(null) });
  const held = await agent.run("sudo make", { ...LEAVES });
  const open = { walls: [opensHost()], for: "once" };
  const answer = await approve(gate, person, { id: held.action_id, open });
  expect(answer).toMatchObject({ status: 400, body: { code: "invalid" } });
  expect(answer.body.detail).toContain("no sandbox engine");
});

describe.runIf(ENGINE !== null)("policy suggest", () => {
  test("proposes what people opened three times, and no rule from those approvals", async () => {
    const { gate, person, agent } = await openGate({ more: { sandbox: { hosts: ["open.test"] } } });
    const often = [{ kind: "host", host: "often.test" }, { kind: "writable", path: "~/data" }];
    const file = { kind: "readable", path: "~/.toolrc" };
    for (let at = 0; at < 4; at++) {
      const held = await agent.run(`npm publish --tag t${at}`, LEAVES);
      const walls = [...often, file, ...at < 2 ? [{ kind: "host", host: "seldom.test" }] : []];
      const open = { walls, for: at === 1 ? "session" : "once" };
      expect((await approve(gate, person, { id: held.action_id, open })).status).toBe(200);
    }
    const body = { since: "2000-01-01T00:00:00.000Z" };
    const found = await (await gate.request("POST", "/api/policy/suggest", body)).json();
    expect(found).toMatchObject({
      asked: 0,
      suggestions: [],
      sandbox: [
        { list: "hosts", entry: "often.test", opened: 4 },
        { list: "writable", entry: "~/data", opened: 4 },
      ],
    });
  });
});
