import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { engineOnce } from "../../../server/sandbox/engine.ts";
import { policyTemplate } from "../../../server/policy/templates.ts";
import { createTestGate, testCaller, type TestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { forge } from "../proof/forging.ts";
import { enrol, prove, sendTo, withPassphrase } from "../proof/person.ts";
import { connect } from "./agent.ts";
import { ENGINE } from "./stage.ts";

const FILES = {
  ".env": "KEY=SECRET\n",
  "src/a.txt": "one\n",
  "src/b.txt": "two\n",
  "src/c.txt": "three\n",
};
const balanced = policyTemplate("balanced");
const review = {
  policies: { ...balanced, sandbox: { ...balanced.sandbox, mode: "review" as const } },
  files: FILES,
  sandbox: engineOnce(),
};
const PY = (code: string) => `python3 -c "${code}"`;

interface Held {
  action_id: string;
  files: number;
  why: string | null;
  left_out: { files: { path: string; why: string }[]; count: number };
}

type Run = Awaited<ReturnType<typeof connect>>;
type Done = Awaited<ReturnType<Run>> & { held: Held; run: Run };

/** Runs a command in review mode. Returns what its agent is told. */
async function runHeld(gate: TestGate, command: string): Promise<Done> {
  const run = await connect(gate);
  const done = await run(command, { wait_ms: 25_000 });
  return { ...done, held: done.held_changes as Held, run };
}

/** Runs a command that is asked about itself, and that a person approves. */
async function runApproved(gate: TestGate, command: string): Promise<Done> {
  const running = runHeld(gate, command);
  const found = await vi.waitFor(async () => {
    const { items: [one] } = await gate.project.actions.list({ status: "pending" });
    expect(one).toBeDefined();
    return one!;
  }, { timeout: 60_000, interval: 50 });
  expect(found.decision.sandbox).toMatchObject({ held_back: true });
  expect(await decide(gate, found.id, "approve")).toMatchObject({ status: 200 });
  return await running;
}

/** Runs a script of the project, whose text tells nothing. */
async function runScript(gate: TestGate, lines: readonly string[]): Promise<Done> {
  gate.write("do.py", lines.join("\n"));
  return await runHeld(gate, "python3 do.py");
}

async function detailOf(gate: TestGate, id: string) {
  return await (await gate.request("GET", `/api/actions/${id}`, undefined, "reviewer")).json();
}

async function decide(
  gate: TestGate,
  id: string,
  verb: string,
  body: Record<string, unknown> = {},
) {
  const response = await gate.request("POST", `/api/actions/${id}/${verb}`, body, "reviewer");
  return { status: response.status, body: await response.json() };
}

function read(gate: TestGate, path: string): string {
  return readFileSync(join(gate.root, path), "utf8");
}

describe.runIf(ENGINE !== null)("sandbox.mode review", () => {
  test("a command's changes wait as one action with a diff, and are applied by an approval", async () => {
    const gate = await createTestGate(review);
    const done = await runHeld(
      gate,
      PY(
        "import os; open('src/a.txt','w').write('ONE'); os.remove('src/b.txt'); " +
          "os.makedirs('new/deep'); open('new/deep/d.bin','wb').write(bytes([0,255,1])); " +
          "os.chmod('src/c.txt', 0o755); print('done')",
      ),
    );
    expect(done).toMatchObject({ status: "approved", execution: "succeeded", exit_code: 0 });
    expect(done.decision).toMatchObject({ sandbox: { held_back: true } });
    expect(done.message).toContain("wait for a person as action");
    expect(read(gate, "src/a.txt")).toBe("one\n");
    expect(existsSync(join(gate.root, "new"))).toBe(false);
    const { action_id } = done.held;
    expect(done.held).toMatchObject({ files: 4, why: null, left_out: { count: 0 } });
    const card = await detailOf(gate, action_id);
    expect(card).toMatchObject({ tool: "apply_changes", status: "pending", obstacle: null });
    expect(card.taken_from.action_id).toBe(done.action_id);
    const byPath = Object.fromEntries(card.files.map((one: { path: string }) => [one.path, one]));
    expect(Object.keys(byPath).sort())
      .toEqual(["new/deep/d.bin", "src/a.txt", "src/b.txt", "src/c.txt"]);
    expect(byPath["src/a.txt"]).toMatchObject({
      before: { text: "one\n" },
      after: { text: "ONE" },
    });
    expect(byPath["src/b.txt"].after).toBeNull();
    expect(byPath["new/deep/d.bin"].after).toMatchObject({ text: null, bytes: 3 });
    expect(byPath["src/c.txt"].after.mode).toBe(0o755);

    const approved = await decide(gate, action_id, "approve", { expected_digest: card.digest });
    expect(approved).toMatchObject({ status: 200, body: { execution: "succeeded" } });
    expect(read(gate, "src/a.txt")).toBe("ONE");
    expect(existsSync(join(gate.root, "src/b.txt"))).toBe(false);
    expect([...readFileSync(join(gate.root, "new/deep/d.bin"))]).toEqual([0, 255, 1]);
    expect(lstatSync(join(gate.root, "src/c.txt")).mode & 0o777).toBe(0o755);
    const types = (await gate.audit()).map(({ type }) => type)
      .filter((type) => type.startsWith("action."));
    expect(types).toEqual([
      ...["action.submitted", "action.approved", "action.started"],
      ...["action.submitted", "action.finished"],
      ...["action.approved", "action.started", "action.finished"],
    ]);

    const back = await decide(gate, action_id, "rollback");
    expect(back.status).toBe(200);
    expect(read(gate, "src/a.txt")).toBe("one\n");
    expect(read(gate, "src/b.txt")).toBe("two\n");
    expect(existsSync(join(gate.root, "new"))).toBe(false);
    expect(lstatSync(join(gate.root, "src/c.txt")).mode & 0o777).toBe(0o644);
  });

  test("a rejection leaves the project as it is, and no copy stays behind", async () => {
    const gate = await createTestGate(review);
    const { held } = await runHeld(gate, PY("open('src/a.txt','w').write('ONE')"));
    expect(await decide(gate, held.action_id, "reject", { reason: "no" }))
      .toMatchObject({ status: 200, body: { status: "rejected" } });
    expect(read(gate, "src/a.txt")).toBe("one\n");
    const sandbox = join(gate.home, "sandbox");
    const copies = readdirSync(sandbox).flatMap((session) => {
      const folder = join(sandbox, session, "copies");
      return existsSync(folder) ? readdirSync(folder) : [];
    });
    expect(copies).toEqual([]);
  });

  test("of several files a person takes over some; the proof covers which", async () => {
    const gate = await createTestGate({ ...review, proof: "none" });
    const send = sendTo(gate);
    const person = withPassphrase();
    expect((await enrol(send, person)).status).toBe(200);
    const { held } = await runHeld(
      gate,
      PY("[open('src/'+n,'w').write('NEW') for n in ('a.txt','b.txt','new.txt')]"),
    );
    const path = `/api/actions/${held.action_id}/approve-with-edit`;
    for (
      const [body, code] of [
        [{ take: ["src/missing.txt"] }, "invalid"],
        [{ take: [] }, "invalid"],
        [{ take: ["src/a.txt"], content: "x" }, "invalid"],
        [{ content: "x" }, "invalid"],
        [{ take: ["src/a.txt"], base_sha256: null }, "invalid"],
      ] as const
    ) {
      const answer = await send("POST", path, body);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ code });
    }
    const taken = await prove(send, person, ["POST", path, { take: ["src/a.txt", "src/new.txt"] }]);
    expect(taken.status).toBe(200);
    expect(await taken.json()).toMatchObject({ edited: true, execution: "succeeded", error: null });
    expect(read(gate, "src/a.txt")).toBe("NEW");
    expect(read(gate, "src/new.txt")).toBe("NEW");
    expect(read(gate, "src/b.txt")).toBe("two\n");
    const edit = (await gate.audit()).find(({ type }) => type === "action.edited");
    expect(edit!.data).toMatchObject({ take: ["src/a.txt", "src/new.txt"] });
    const waited = await gate.project.actions.wait(
      held.action_id,
      { timeout_ms: 0 },
      testCaller("agent"),
    );
    expect(waited.result).toMatchObject({ edited: true, not_taken: ["src/b.txt"] });
    expect(await gate.project.audit.verify()).toMatchObject({ ok: true });
  });

  test("another file list than the signed one is not executed", async () => {
    let armed = true;
    const gate = await createTestGate({
      ...review,
      proof: "none",
      fault: (step) => {
        if (armed && step === "decided") throw new Error("power cut");
      },
    });
    const send = sendTo(gate);
    const person = withPassphrase();
    await enrol(send, person);
    const { held } = await runHeld(
      gate,
      PY("[open('src/'+n,'w').write('NEW') for n in ('a.txt','b.txt')]"),
    );
    const path = `/api/actions/${held.action_id}/approve-with-edit`;
    await prove(send, person, ["POST", path, { take: ["src/a.txt"] }]);
    const row = await gate.project.actions.get(held.action_id);
    expect(row).toMatchObject({ status: "approved", execution: "none" });
    // Another program of the same user puts the whole list back, with the digest of it.
    await forge(
      gate,
      `UPDATE actions SET digest = json_extract(proposed, '$.digest'), input = json_set(input,
        '$.changes', json_extract(proposed, '$.held.changes'),
        '$.accesses', json_extract(proposed, '$.held.accesses')) WHERE id = ?`,
      [row.id],
    );
    armed = false;
    await gate.reopen();
    expect(await gate.project.actions.get(row.id)).toMatchObject({ execution: "failed" });
    expect(read(gate, "src/a.txt")).toBe("one\n");
    expect(read(gate, "src/b.txt")).toBe("two\n");
  });

  test.each(["decided", "intent", "applied"])(
    "a crash after the step %s loses nothing: the next start applies all or nothing",
    async (step) => {
      let armed = false;
      const gate = await createTestGate({
        ...review,
        fault: (now) => {
          if (armed && now === step) throw new Error("power cut");
        },
      });
      const { held } = await runHeld(
        gate,
        PY("[open('src/'+n,'w').write('NEW') for n in ('a.txt','b.txt')]"),
      );
      armed = true;
      await decide(gate, held.action_id, "approve").catch(() => null);
      armed = false;
      await gate.reopen();
      const { execution } = await gate.project.actions.get(held.action_id);
      const texts = ["src/a.txt", "src/b.txt"].map((path) => read(gate, path));
      expect(["succeeded", "failed"]).toContain(execution);
      expect(texts).toEqual(execution === "succeeded" ? ["NEW", "NEW"] : ["one\n", "two\n"]);
      if (step !== "intent") expect(execution).toBe("succeeded");
    },
  );

  test("a file that changed after the command is a conflict, and neither version is lost", async () => {
    const gate = await createTestGate(review);
    const { held } = await runHeld(gate, PY("open('src/a.txt','w').write('AGENT')"));
    gate.write("src/a.txt", "PERSON");
    const refused = await decide(gate, held.action_id, "approve");
    expect(refused).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect(refused.body.detail).toContain('"src/a.txt" has changed');
    expect(read(gate, "src/a.txt")).toBe("PERSON");
    expect(await detailOf(gate, held.action_id)).toMatchObject({
      status: "pending",
      files: [{ after: { text: "AGENT" } }],
    });
  });

  test("a file that a person changes while the command runs is left out, and told", async () => {
    const gate = await createTestGate(review);
    const running = runHeld(
      gate,
      PY(
        "import time; [open('src/'+n,'w').write('AGENT') for n in ('a.txt','b.txt')]; time.sleep(3)",
      ),
    );
    const isStarted = async () =>
      expect((await gate.audit()).map(({ type }) => type)).toContain("action.started");
    await vi.waitFor(isStarted, { timeout: 60_000, interval: 50 });
    gate.write("src/b.txt", "PERSON");
    const { held, message } = await running;
    expect(held).toMatchObject({ files: 1, left_out: { count: 1 } });
    expect(held.left_out.files[0]).toMatchObject({ path: "src/b.txt" });
    expect(message).toContain('"src/b.txt" (it changed in the project while the command ran)');
    expect(await decide(gate, held.action_id, "approve")).toMatchObject({ status: 200 });
    expect([read(gate, "src/a.txt"), read(gate, "src/b.txt")]).toEqual(["AGENT", "PERSON"]);
  });

  test("what a person cannot review is left out with a word", async () => {
    const gate = await createTestGate(review);
    gate.write("kept/file.txt", "x");
    symlinkSync("file.txt", join(gate.root, "kept/link"));
    const { held, execution } = await runApproved(
      gate,
      PY(
        [
          "import os",
          "os.symlink('/et'+'c/passwd','src/planted'); os.remove('src/a.txt')",
          "os.symlink('/et'+'c/passwd','src/a.txt'); os.mkfifo('src/pipe'); os.remove('kept/link')",
          "os.mkdir('src/empty'); os.makedirs('sub/.git/hooks')",
          "open('sub/.git/hooks/pre-commit','w').write('evil')",
          "os.remove('src/b.txt'); os.mkdir('src/b.txt'); open('src/b.txt/in','w').write('x')",
          "open('src/suid','w').write('x'); os.chmod('src/suid', 0o2755)",
          "open('src/c.txt','w').write('changed'); open('src/x'+chr(8203)+'y.txt','w').write('x')",
          "open('src/x.p'+'em','w').write('key')",
          "h=open('src/huge','w'); h.truncate(1 << 31); h.close()",
        ].join("\n"),
      ),
    );
    expect(execution).toBe("succeeded");
    const why = Object.fromEntries(held.left_out.files.map((one) => [one.path, one.why]));
    expect(why).toMatchObject({
      "src/planted": "gate takes over no links",
      "src/a.txt": "a file became a link",
      "src/pipe": "it is no file, folder or link",
      "kept/link": "gate removes no links",
      "sub/.git": "it is a folder of git",
      "src/b.txt": "a file became a folder",
      "src/suid": "it would run with the rights of its owner",
      "src/x.pem": expect.stringContaining("policy blocks it"),
      "src/huge": expect.stringContaining("maxBlobBytes"),
      "src/x\u200by.txt": expect.stringContaining("invisible characters"),
    });
    const card = await detailOf(gate, held.action_id);
    expect(card.files.map((one: { path: string }) => one.path)).toEqual(["src/c.txt"]);
    expect(card.taken_from.left_out.count).toBe(held.left_out.count);
    expect(await decide(gate, held.action_id, "approve")).toMatchObject({ status: 200 });
    expect(read(gate, "src/c.txt")).toBe("changed");
    expect(readdirSync(join(gate.root, "src")).sort()).toEqual(["a.txt", "b.txt", "c.txt"]);
    expect(readlinkSync(join(gate.root, "kept/link"))).toBe("file.txt");
    expect(existsSync(join(gate.root, "sub"))).toBe(false);
  });

  test("files that gate guards are never taken over, although a person could approve them alone", async () => {
    const gate = await createTestGate(review);
    const names = [
      ...[".mcp.json", ".husky/pre-commit", ".vscode/tasks.json", ".claude/settings.json"],
      ...[".envrc", "bare/HEAD", ".gitmodules"],
    ];
    const { held } = await runScript(gate, [
      "import os",
      `for name in ${JSON.stringify(names)} + ['src/a.txt']:`,
      "  if '/' in name: os.makedirs(name.rsplit('/',1)[0], exist_ok=True)",
      "  open(name,'w').write('EVIL')",
    ]);
    const why = Object.fromEntries(held.left_out.files.map((one) => [one.path, one.why]));
    for (const name of names) expect(why[name], name).toContain("gate guards it");
    const card = await detailOf(gate, held.action_id);
    expect(card.files.map((one: { path: string }) => one.path)).toEqual(["src/a.txt"]);
    expect(await decide(gate, held.action_id, "approve")).toMatchObject({ status: 200 });
    for (const name of names) expect(existsSync(join(gate.root, name)), name).toBe(false);
    expect(read(gate, "src/a.txt")).toBe("EVIL");
  });

  test("names that are no text, closed folders and endless paths lose nothing else", async () => {
    const gate = await createTestGate(review);
    const { held } = await runScript(gate, [
      "import os",
      "open(b'src/bad\\xff','w').write('x'); open(b'src/bad\\xef\\xbf\\xbd','w').write('y')",
      "os.mkdir(b'src/dir\\xfe'); open(b'src/dir\\xfe/in','w').write('x')",
      "os.mkdir('shut'); open('shut/in.txt','w').write('x'); os.chmod('shut/in.txt',0)",
      "os.chmod('shut',0); open('src/a.txt','w').write('ONE')",
      "os.mkdir('deep'); os.chdir('deep')",
      "for i in range(40): os.mkdir('d'*200); os.chdir('d'*200)",
    ]);
    expect(held).toMatchObject({ why: null });
    const card = await detailOf(gate, held.action_id);
    const paths = card.files.map((one: { path: string }) => one.path);
    expect(paths).toContain("src/a.txt");
    expect(paths.filter((path: string) => path.startsWith("src/bad"))).toEqual(["src/bad\ufffd"]);
    const why = held.left_out.files.map((one) => one.why);
    expect(why.filter((one) => one === "its name has bytes that are no text")).toHaveLength(2);
    expect(why.join()).toContain("cannot be read (ENAMETOOLONG)");
    expect(JSON.stringify(held)).not.toContain(gate.home);
    expect(await decide(gate, held.action_id, "approve")).toMatchObject({ status: 200 });
    expect(read(gate, "src/a.txt")).toBe("ONE");
  });

  test("a writable folder around the project does not open the project itself", async () => {
    const around = realpathSync(createTempFolder("work"));
    const gate = await createTestGate({
      ...review,
      root: join(around, "project"),
      policies: { ...balanced, sandbox: { ...review.policies.sandbox, writable: [around] } },
    });
    const { held, output } = await runScript(gate, [
      "open('src/a.txt','w').write('ONE'); open('../beside','w').write('B'); print('done')",
    ]);
    expect(output).toContain("done");
    expect(read(gate, "src/a.txt")).toBe("one\n");
    expect(readFileSync(join(around, "beside"), "utf8")).toBe("B");
    expect(held).toMatchObject({ files: 1, why: null });
  });

  test("blocked, protected and git's files are never changed, and secrets not in the copy", async () => {
    const gate = await createTestGate(review);
    mkdirSync(join(gate.root, ".git/refs"), { recursive: true });
    gate.write(".git/HEAD", "ref: refs/heads/main\n");
    const config = read(gate, "gate.config.json");
    const { held, output } = await runApproved(
      gate,
      PY(
        [
          "import os",
          "def tries(path):",
          "  try: open(path,'w').write('EVIL'); print('WROTE', path)",
          "  except Exception as e: print('no', path)",
          "for p in ('.'+'env', 'gate.con'+'fig.json', '.g'+'it/HEAD', '.g'+'it/hooks/x'): tries(p)",
          "print([open(os.path.join(d,f)).read() for d,_,fs in os.walk('.') for f in fs " +
          "if os.access(os.path.join(d,f), os.R_OK)])",
        ].join("\n"),
      ),
    );
    expect(output).not.toContain("WROTE");
    expect(output).not.toContain("SECRET");
    expect(held).toMatchObject({ action_id: null, files: 0 });
    expect(read(gate, ".env")).toBe("KEY=SECRET\n");
    expect(read(gate, "gate.config.json")).toBe(config);
    expect(read(gate, ".git/HEAD")).toBe("ref: refs/heads/main\n");
  });

  test("a folder that is swapped for a link to outside gets nothing", async () => {
    const gate = await createTestGate(review);
    const outside = join(gate.root, "../outside");
    mkdirSync(outside);
    const { held } = await runHeld(
      gate,
      PY(
        "import os; os.mkdir('made'); open('made/x','w').write('x'); open('src/a.txt','w').write('X')",
      ),
    );
    renameSync(join(gate.root, "src"), join(gate.root, "moved"));
    symlinkSync(outside, join(gate.root, "src"));
    expect((await decide(gate, held.action_id, "approve")).status).toBe(409);
    expect(readdirSync(outside)).toEqual([]);
    expect(existsSync(join(gate.root, "made"))).toBe(false);
  });

  test.each([
    ["during the first file", "temporary"],
    ["after the first file", "renamed"],
  ])("a folder that is swapped %s of an approval gets nothing", async (_, at) => {
    let swap = () => {};
    const gate = await createTestGate({
      ...review,
      fault: (step) => {
        if (step === at) swap();
      },
    });
    const outside = join(gate.root, "../outside");
    mkdirSync(outside);
    mkdirSync(join(gate.root, "two"));
    gate.write("two/z.txt", "old");
    const { held } = await runHeld(
      gate,
      PY("[open(n,'w').write('NEW') for n in ('src/a.txt','two/z.txt')]"),
    );
    swap = () => {
      swap = () => {};
      renameSync(join(gate.root, "two"), join(gate.root, "away"));
      symlinkSync(outside, join(gate.root, "two"));
    };
    await decide(gate, held.action_id, "approve");
    expect(readdirSync(outside)).toEqual([]);
    expect(read(gate, "away/z.txt")).toBe("old");
    expect(await gate.project.actions.get(held.action_id)).toMatchObject({ execution: "failed" });
    expect(read(gate, "src/a.txt")).toBe("one\n");
  });

  test("thousands of files are not held, and the project is unchanged", async () => {
    const gate = await createTestGate(review);
    const { held, message } = await runHeld(
      gate,
      PY("[open('src/f%d' % i,'w').write('x') for i in range(3000)]"),
    );
    expect(held).toMatchObject({ action_id: null, files: 0 });
    expect(held.why).toContain("it changed more than 500 files, and gate holds no more at once");
    expect(message).toContain("The project is unchanged");
    expect(readdirSync(join(gate.root, "src"))).toHaveLength(3);
  });

  test("files that changed just before the command are no changes of it, however many they are", async () => {
    const gate = await createTestGate(review);
    for (let i = 0; i < 600; i++) gate.write(`many/${i}.txt`, `${i}`);
    const { held } = await runHeld(gate, PY("open('src/a.txt','w').write('ONE')"));
    expect(held).toMatchObject({ files: 1, why: null });
  });

  test("a project that is too large to be copied asks instead", async () => {
    const gate = await createTestGate(review);
    mkdirSync(join(gate.root, "many"));
    for (let i = 0; i < 20_001; i++) writeFileSync(join(gate.root, `many/${i}`), "");
    const run = await connect(gate);
    const held = await run(PY("open('src/a.txt','w').write('ONE')"), { wait_ms: 0 });
    expect(held).toMatchObject({ status: "pending" });
    expect(held.decision).toMatchObject({ effect: "ask", sandbox: null });
    expect((held.decision as { reason: string }).reason)
      .toContain("the project is too large to be copied: it has more than 20000 files");
  });

  test("files keep their times, links and names; hard links and unreadable modes do no harm", async () => {
    const gate = await createTestGate(review);
    symlinkSync("a.txt", join(gate.root, "src/link"));
    chmodSync(join(gate.root, "src/c.txt"), 0o755);
    const mtime = Math.floor(lstatSync(join(gate.root, "src/a.txt")).mtimeMs / 1000);
    const { held, output } = await runHeld(
      gate,
      PY(
        "import os; print(int(os.stat('src/a.txt').st_mtime), os.readlink('src/link'), " +
          "oct(os.stat('src/c.txt').st_mode & 0o777)); os.link('src/a.txt','src/hard')",
      ),
    );
    expect(output).toContain(`${mtime} a.txt 0o755`);
    const card = await detailOf(gate, held.action_id);
    expect(card.changes.map((one: { path: string }) => one.path)).toEqual(["src/hard"]);
  });

  test("the same changes again join the action that waits; a command without changes holds nothing", async () => {
    const gate = await createTestGate(review);
    const code = PY("open('src/a.txt','w').write('ONE')");
    const first = await runHeld(gate, code);
    const again = await first.run(code, { wait_ms: 25_000 });
    expect((again.held_changes as Held).action_id).toBe(first.held.action_id);
    const idle = await first.run(PY("print(open('src/a.txt').read())"), { wait_ms: 25_000 });
    expect(idle.output).toContain("one");
    expect(idle.held_changes).toMatchObject({ action_id: null, why: null });
    expect(idle.message).toContain("left no change to take over");
  });

  test("nobody submits such an action, remembers its approval or replays it", async () => {
    const gate = await createTestGate(review);
    const sent = await gate.request(
      "POST",
      "/api/actions",
      { tool: "apply_changes", input: {} },
      "agent",
    );
    expect(sent.status).toBe(400);
    expect((await sent.json()).detail).toContain("gate itself submits the changes of a command");
    const { held } = await runHeld(gate, PY("open('src/a.txt','w').write('ONE')"));
    const remember = { scope: "session", ttl_seconds: 60, max_uses: 5 };
    expect(await decide(gate, held.action_id, "approve", { remember }))
      .toMatchObject({ status: 400, body: { code: "invalid" } });
    await decide(gate, held.action_id, "approve");
    await decide(gate, held.action_id, "rollback");
    expect(await decide(gate, held.action_id, "replay")).toMatchObject({ status: 409 });
  });
});

test("without an engine a person approves every command", async () => {
  const gate = await createTestGate({ ...review, sandbox: () => Promise.resolve(null) });
  const run = await connect(gate);
  const held = await run("wc -l src/a.txt", { wait_ms: 0 });
  expect(held).toMatchObject({ status: "pending", decision: { effect: "ask", sandbox: null } });
});
