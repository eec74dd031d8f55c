import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from "vitest";
import { openConnection } from "../../../cli/daemon/connect.ts";
import { until } from "../../e2e/world.ts";
import { enrol, type Send, withPasskey } from "../../server/proof/person.ts";
import type { Ended } from "../terminal.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

const PASSPHRASE = "correct horse battery";
const OTHER = "another good passphrase";
const WRONG = "wrong horse battery";

let gated: GatedProject;

async function open(prepare: () => Promise<void>): Promise<void> {
  gated = await openGatedProject("none");
  gated.terminal.env.NO_COLOR = "1";
  await prepare();
}

/** Each test has a project and a daemon of its own. */
function ownProject(prepare = async () => {}): void {
  beforeEach(() => open(prepare));
  afterEach(() => gated.close());
}

/** The tests share a project and a daemon, and leave nothing held. */
function sharedProject(prepare = async () => {}): void {
  beforeAll(() => open(prepare));
  afterEach(() => gated.terminal.run(["reject", "--all", "--reason", "the test is over"]));
  afterAll(() => gated.close());
}

/** Runs a command whose passphrases come from standard input. */
function given(input: string, ...args: string[]): Promise<Ended> {
  return gated.terminal.run([...args, "--passphrase-stdin"], { input });
}

async function set(): Promise<void> {
  expect(await given(`${PASSPHRASE}\n`, "proof", "set")).toMatchObject({ code: 0 });
}

/** The audit events of the project with this type. */
// deno-lint-ignore no-explicit-any
async function events(type: string): Promise<any[]> {
  const { stdout } = await gated.good("audit", "export", "--format", "json");
  return JSON.parse(stdout).events.filter((event: { type: string }) => event.type === type);
}

/** A command at a terminal, to be answered. */
function atTerminal(...args: string[]) {
  const ended = gated.terminal.run(args, { person: true });
  let from = 0;
  const see = async (text: string) => {
    await until(`"${text}" is shown`, () => gated.terminal.printed().includes(text, from));
    from = gated.terminal.printed().indexOf(text, from) + text.length;
  };
  const type = (keys: string) => {
    // deno-lint-ignore no-control-regex
    for (const key of keys.match(/\x1b\[.|./gs)!) gated.terminal.type(key);
  };
  return { ended, see, type };
}

async function answer(args: string[], answers: [question: string, keys: string][]) {
  const { ended, see, type } = atTerminal(...args);
  for (const [question, keys] of answers) {
    await see(question);
    type(keys);
  }
  return await ended;
}

describe("without a proof", () => {
  sharedProject();

  test("nothing can be approved, and the message says what to do", async () => {
    const held = await gated.write("a.txt", "a");
    const refused = await gated.terminal.run(["approve", held.id]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("gate proof set");
    expect(gated.onDisk("a.txt")).toBeNull();
    await gated.good("reject", held.id, "--reason", "rejecting needs no proof");
  });

  test("status and doctor say so", async () => {
    expect(await gated.json("proof", "status", "--json")).toMatchObject({ kind: "none" });
    expect((await gated.good("status")).stdout).toContain("Proof: none: nothing can be approved");
    expect(await gated.json("status", "--json")).toMatchObject({ proof: "none" });
    const { findings } = await gated.json("doctor", "--json");
    expect(findings).toContainEqual({
      check: "proof",
      level: "warning",
      message: expect.stringContaining("none: nothing can be approved"),
      fix: "gate proof set",
      repair: { kind: "page", page: "settings", project: null },
    });
  });

  test.each([
    ["a short one", "seven 7\n", "it has 7 of at least 8 characters"],
    ["empty standard input", "", "standard input has no line left"],
    ["an empty line", "\n", "standard input has no line left"],
  ])("set refuses %s", async (_, input, why) => {
    const refused = await given(input, "proof", "set");
    expect(refused).toMatchObject({ code: 64, stdout: "" });
    expect(refused.stderr).toContain(why);
    expect(await gated.json("proof", "status", "--json")).toMatchObject({ kind: "none" });
  });

  test("set needs a terminal or --passphrase-stdin", async () => {
    const refused = await gated.terminal.run(["proof", "set"]);
    expect(refused).toMatchObject({ code: 64, stdout: "" });
    expect(refused.stderr).toMatch(/no terminal .*\n {2}try: .*in a terminal.*--passphrase-stdin/);
  });

  test.each(["change", "remove"])("%s says that none is set", async (verb) => {
    const refused = await given(`${PASSPHRASE}\n${OTHER}\n`, "proof", verb);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("Cannot ");
  });
});

describe("with a passphrase", () => {
  sharedProject(set);

  test("approve needs it; the event keeps the proof, and the chain verifies", async () => {
    const held = await gated.write("a.txt", "a");
    const unasked = await gated.terminal.run(["approve", held.id]);
    expect(unasked).toMatchObject({ code: 64, stdout: "" });
    expect(unasked.stderr).toMatch(/in a terminal, or with --passphrase-stdin/);
    const wrong = await given(`${WRONG}\n`, "approve", held.id);
    expect(wrong).toMatchObject({ code: 1, stdout: "" });
    expect(wrong.stderr).toContain("the passphrase is wrong");
    expect(gated.onDisk("a.txt")).toBeNull();
    const approved = await given(`${PASSPHRASE}\r\n`, "approve", held.id);
    expect(approved).toMatchObject({ code: 0, stdout: expect.stringContaining("✓ approved") });
    await until("the file is written", () => gated.onDisk("a.txt") === "a");
    const approvals = await events("action.approved");
    expect(approvals.filter(({ action_id }) => action_id === held.id)).toMatchObject([{
      data: {
        proof: {
          kind: "passphrase",
          challenge: { verb: "approve", action_id: held.id, digest: held.digest },
        },
      },
    }]);
    await gated.good("audit", "verify");
  });

  test("gate api signs too", async () => {
    const held = await gated.write("api.txt", "a");
    const post = ["api", "POST", `/api/actions/${held.id}/approve`, "-d"];
    const body = JSON.stringify({ expected_digest: held.digest });
    expect(await gated.terminal.run([...post, body])).toMatchObject({ code: 64, stdout: "" });
    expect(await given(`${PASSPHRASE}\n`, ...post, "-")).toMatchObject({ code: 64, stdout: "" });
    const blind = await given(`${PASSPHRASE}\n`, ...post, "{}");
    expect(blind).toMatchObject({ code: 1, stdout: "" });
    expect(blind.stderr).toContain('add "expected_digest" to its body');
    expect(gated.onDisk("api.txt")).toBeNull();
    expect(await given(`${PASSPHRASE}\n`, ...post, body)).toMatchObject({ code: 0 });
  });

  test("a second set is refused, names the first, and says how to take the home back", async () => {
    const refused = await given(`${OTHER}\n`, "proof", "set");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/Cannot set a proof: \w+ set a passphrase on \d{4}-/);
    expect(refused.stderr).toContain("gate daemon stop; mv ");
    expect(refused.stderr).toContain("try: gate proof change");
    const status = await gated.good("proof", "status");
    expect(status.stdout).toContain("passphrase: every approval needs the passphrase");
    expect(status.stdout).toContain("If it was not you");
  });

  test("no file of the home or the project has the passphrase", async () => {
    const held = await gated.write("a.txt", "a");
    await given(`${WRONG}\n`, "approve", held.id);
    expect(await given(`${PASSPHRASE}\n`, "approve", held.id)).toMatchObject({ code: 0 });
    const files = filesBelow(gated.terminal.folder);
    expect(files.length).toBeGreaterThan(8);
    expect(files.filter((file) => contains(file, PASSPHRASE))).toEqual([]);
    expect(files.filter((file) => contains(file, WRONG))).toEqual([]);
  });

  test("one passphrase is enough for several ids, an edit, a grant and a rollback", async () => {
    const [first, second, third, fourth] = [
      await gated.write("1.txt", "1"),
      await gated.write("2.txt", "2"),
      await gated.write("3.txt", "3"),
      await gated.write("4.txt", "4"),
    ];
    const line = `${PASSPHRASE}\n`;
    expect(await given(line, "approve", first!.id, second!.id)).toMatchObject({ code: 0 });
    gated.terminal.env.EDITOR = "printf edited >";
    expect(await given(line, "approve", third!.id, "--edit")).toMatchObject({ code: 0 });
    expect(gated.onDisk("3.txt")).toBe("edited");
    expect(await given(line, "approve", fourth!.id, "--remember")).toMatchObject({ code: 0 });
    expect(await given(line, "rollback", first!.id)).toMatchObject({ code: 0 });
    expect(gated.onDisk("1.txt")).toBeNull();
    const [{ id: session }] = await gated.json("session", "list", "--json");
    expect(await given(line, "session", "rollback", session)).toMatchObject({ code: 0 });
    expect(gated.onDisk("2.txt")).toBeNull();
    await gated.good("audit", "verify");
  });
});

describe("a passphrase that does not stay", () => {
  ownProject(set);

  test("change needs the present one; afterwards only the new one is valid", async () => {
    expect(await given(`${OTHER}\n${OTHER}\n`, "proof", "change")).toMatchObject({ code: 1 });
    expect(await given(`${PASSPHRASE}\n`, "proof", "change")).toMatchObject({ code: 64 });
    expect(await given(`${PASSPHRASE}\n${OTHER}\n`, "proof", "change")).toMatchObject({ code: 0 });
    const held = await gated.write("a.txt", "a");
    expect(await given(`${PASSPHRASE}\n`, "approve", held.id)).toMatchObject({ code: 1 });
    expect(await given(`${OTHER}\n`, "approve", held.id)).toMatchObject({ code: 0 });
    expect(await events("proof.changed")).toHaveLength(2);
    await gated.good("audit", "verify");
  });

  test("remove needs it and leaves nothing that can decide", async () => {
    expect(await given(`${OTHER}\n`, "proof", "remove")).toMatchObject({ code: 1 });
    expect(await given(`${PASSPHRASE}\n`, "proof", "remove")).toMatchObject({ code: 0 });
    expect(await gated.json("proof", "status", "--json")).toMatchObject({ kind: "none" });
    const held = await gated.write("a.txt", "a");
    expect(await given(`${PASSPHRASE}\n`, "approve", held.id)).toMatchObject({ code: 1 });
  });
});

describe("with a passkey", () => {
  sharedProject(async () => {
    const around = { env: gated.terminal.env, cwd: gated.folder, pid: 1 };
    const { url, fetch, token } = await openConnection(around, { scope: "reviewer" });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const send: Send = (method, path, body = {}) =>
      fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
    const origin = `http://localhost:${gated.terminal.env.GATE_PORT}`;
    expect((await enrol(send, withPasskey("ES256", { origin }))).status).toBe(200);
  });

  test.each([["approve"], ["approve", "--passphrase-stdin"]])(
    "%s %s names the card, where a browser can use it",
    async (...args) => {
      const held = await gated.write("a.txt", "a");
      const refused = await gated.terminal.run([...args, held.id], { input: `${PASSPHRASE}\n` });
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      const card = `localhost:${gated.terminal.env.GATE_PORT}/approvals?project=web&id=${held.id}`;
      expect(refused.stderr).toContain(`try: gate dashboard, then open http://${card}`);
      expect(gated.onDisk("a.txt")).toBeNull();
    },
  );

  test("status and doctor name it; change and remove send the person to the dashboard", async () => {
    expect((await gated.good("proof", "status")).stdout).toContain("set a passkey on ");
    const { findings } = await gated.json("doctor", "--json");
    expect(findings).toContainEqual(expect.objectContaining({ check: "proof", level: "ok" }));
    for (const verb of ["change", "remove"]) {
      const refused = await given(`${PASSPHRASE}\n${OTHER}\n`, "proof", verb);
      expect(refused, verb).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("gate dashboard");
    }
  });
});

test("after many wrong proofs the daemon pauses, and the right passphrase still decides", async () => {
  await open(set);
  onTestFinished(() => gated.close());
  const held = await gated.write("a.txt", "a");
  const around = { env: gated.terminal.env, cwd: gated.folder, pid: 1 };
  const { url, fetch, token } = await openConnection(around, { scope: "reviewer" });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const approve = async (proof?: object) => {
    const body = JSON.stringify(proof ? { proof } : {});
    const path = `${url}/api/actions/${held.id}/approve`;
    return await (await fetch(path, { method: "POST", headers, body })).json();
  };
  const { enrolled } = await gated.json("proof", "status", "--json");
  const codes: string[] = [];
  for (let tries = 0; tries < 12; tries++) {
    const { challenge: { nonce } } = await approve();
    const { key_id } = enrolled[0];
    const wrong = { kind: "passphrase", key_id, nonce, signature: "A".repeat(86) };
    codes.push((await approve(wrong)).code);
  }
  expect(codes).toEqual([...Array(10).fill("proof_required"), "rate_limited", "rate_limited"]);
  expect(gated.onDisk("a.txt")).toBeNull();
  expect(await given(`${PASSPHRASE}\n`, "approve", held.id)).toMatchObject({ code: 0 });
});

describe("at a terminal without a proof", () => {
  ownProject();

  test("set asks twice, again when they differ, and shows nothing of it", async () => {
    const ended = await answer(["proof", "set"], [
      ["New passphrase", `${PASSPHRASE}\r`],
      ["The same passphrase again", `${OTHER}\r`],
      ["They differ. New passphrase", `${PASSPHRASE}\r`],
      ["The same passphrase again", `${PASSPHRASE}\r`],
    ]);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).not.toContain("horse");
    expect(await gated.json("proof", "status", "--json")).toMatchObject({ kind: "passphrase" });
  });

  test("a short passphrase is refused at once, and the person goes on typing", async () => {
    const ended = await answer(["proof", "set"], [
      ["New passphrase", "short\r"],
      ["it has 5 of at least 8 characters", "-but-longer\r"],
      ["The same passphrase again", "short-but-longer\r"],
    ]);
    expect(ended).toMatchObject({ code: 0 });
  });
});

describe("at a terminal with a passphrase", () => {
  sharedProject(set);
  afterEach(() => {
    for (const name of ["1.txt", "2.txt"]) rmSync(join(gated.folder, name), { force: true });
  });

  test("approve asks once for several ids, and once more after a wrong one", async () => {
    const [first, second] = [await gated.write("1.txt", "1"), await gated.write("2.txt", "2")];
    const ended = await answer(["approve", first!.id, second!.id], [
      [`Passphrase to approve ${first!.id}`, `${WRONG}\r`],
      ["Wrong. Passphrase", `${PASSPHRASE}\r`],
    ]);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout.match(/✓ approved/g)).toHaveLength(2);
    expect(ended.stdout).not.toContain("horse");
  });

  test("three wrong ones end the command", async () => {
    const held = await gated.write("1.txt", "1");
    const ended = await answer(["approve", held.id], [
      ["Passphrase", `${WRONG}\r`],
      ["Wrong.", `${WRONG}\r`],
      ["Wrong.", `${WRONG}\r`],
    ]);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toContain("the passphrase is wrong");
    expect(gated.onDisk("1.txt")).toBeNull();
  });

  test("Ctrl-C at the question changes nothing", async () => {
    const held = await gated.write("1.txt", "1");
    const ended = await answer(["approve", held.id], [["Passphrase", "corr\x03"]]);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toContain("you gave no passphrase; nothing changed");
    expect(await gated.json("show", held.id, "--json")).toMatchObject({ status: "pending" });
  });

  test("--passphrase-stdin is refused, because a terminal would show what is typed", async () => {
    const held = await gated.write("1.txt", "1");
    const args = ["approve", held.id, "--passphrase-stdin"];
    expect(await gated.terminal.run(args, { person: true })).toMatchObject({ code: 64 });
  });

  test("watch asks once while it lives", async () => {
    await gated.write("1.txt", "1");
    await gated.write("2.txt", "2");
    const { ended, see, type } = atTerminal("watch");
    await see("Approve this action?");
    type("a");
    await see("Passphrase to approve");
    type(`${PASSPHRASE}\r`);
    await see("✓ approved");
    const asked = gated.terminal.printed().lastIndexOf("Passphrase");
    await see("Approve this action?");
    type("a");
    await see("✓ approved");
    expect(gated.terminal.printed().lastIndexOf("Passphrase")).toBe(asked);
    gated.terminal.signal("SIGINT");
    expect(await ended).toMatchObject({ code: 0 });
    expect([gated.onDisk("1.txt"), gated.onDisk("2.txt")]).toEqual(["1", "2"]);
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => existsSync(file) && statSync(file).isFile());
}

function contains(file: string, text: string): boolean {
  return readFileSync(file).includes(text);
}
