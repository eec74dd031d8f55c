import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
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
import type { Action } from "../../../server/actions/schema.ts";
import { canonical } from "../../../server/evidence/canonical.ts";
import { Between, type Tricks } from "../../between.ts";
import { until } from "../../e2e/world.ts";
import { type GatedProject, openGatedProject } from "../gated_project.ts";

const PASSPHRASE = "correct horse battery";
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

let gated: GatedProject;
let between: Between;
let evil: Action;
let harmless: Action;

async function open(): Promise<void> {
  gated = await openGatedProject("none");
  gated.terminal.env.NO_COLOR = "1";
  const set = await gated.terminal.run(["proof", "set", "--passphrase-stdin"], {
    input: `${PASSPHRASE}\n`,
  });
  expect(set).toMatchObject({ code: 0 });
  between = new Between(join(gated.terminal.folder, ".gate"));
  await between.listen();
}

async function hold(): Promise<void> {
  evil = await gated.write("evil.txt", "evil\n");
  harmless = await gated.write("notes.txt", "harmless\n");
}

/** Leaves the next test the project as it was: nothing held, nothing written. */
async function clear(): Promise<void> {
  between.tricks = {};
  await gated.terminal.run(["reject", "--all", "--reason", "the test is over"]);
  for (const name of ["evil.txt", "notes.txt"]) rmSync(join(gated.folder, name), { force: true });
}

async function close(): Promise<void> {
  await between.close();
  await gated.close();
}

function approve(id: string, ...args: string[]) {
  return gated.terminal.run(["approve", id, ...args, "--passphrase-stdin"], {
    input: `${PASSPHRASE}\n`,
  });
}

// deno-lint-ignore no-explicit-any
type Json = any;

/** Applies the change to every record of this action in an answer. */
function eachOf(id: string, change: (action: Json) => void): NonNullable<Tricks["answer"]> {
  return (body) => {
    for (const one of [body, ...body?.items ?? []]) if (one?.id === id) change(one);
  };
}

/** A record that is consistent in itself, and about another plan. */
function asHarmless(action: Json): void {
  const content = "harmless\n";
  action.path = "notes.txt";
  if (!action.signed) return;
  const [change] = action.signed.changes;
  change.path = change.path.replace("evil.txt", "notes.txt");
  change.after.sha256 = sha256(content);
  action.signed.accesses[0].path = change.path;
  action.changes[0].path = "notes.txt";
  action.changes[0].after_sha256 = change.after.sha256;
  action.after_sha256 = change.after.sha256;
  action.after.text = content;
  action.digest = sha256(canonical(action.signed));
}

/** Nothing was approved, and nothing was written. */
async function expectHeld(): Promise<void> {
  expect([gated.onDisk("evil.txt"), gated.onDisk("notes.txt")]).toEqual([null, null]);
  between.tricks = {};
  for (const { id } of [evil, harmless]) {
    expect(await gated.json("show", id, "--json")).toMatchObject({ status: "pending" });
  }
}

const TRICKS: [string, () => Tricks, string][] = [
  ["another path", () => ({
    answer: eachOf(evil.id, (action) => {
      action.path = "notes.txt";
      if (action.signed) action.signed.changes[0].path = "/notes.txt";
    }),
  }), "its plan is another one"],
  ["another content", () => ({
    answer: eachOf(evil.id, (action) => {
      if (action.after) action.after.text = "harmless\n";
    }),
  }), "the shown content is another one"],
  ["another content with its hash", () => ({
    answer: eachOf(evil.id, (action) => {
      if (!action.after) return;
      action.after.text = "harmless\n";
      action.changes[0].after_sha256 = sha256("harmless\n");
    }),
  }), "the shown files are other ones"],
  ["another tool", () => ({
    answer: eachOf(evil.id, (action) => action.tool = "read_file"),
  }), "the shown tool is another one"],
  ["a command", () => ({
    answer: eachOf(evil.id, (action) => action.command = "ls"),
  }), "the shown command is another one"],
  ["fewer files", () => ({
    answer: eachOf(evil.id, (action) => action.changes = []),
  }), "the shown files are other ones"],
  ["no plan", () => ({
    answer: eachOf(evil.id, (action) => action.signed = null),
  }), "it has no plan"],
  ["another digest", () => ({
    answer: eachOf(evil.id, (action) => action.digest = "a".repeat(64)),
  }), "its plan is another one"],
  ["a consistent other action", () => ({
    answer: eachOf(evil.id, asHarmless),
    ask: ({ path, body }) => {
      if (path.includes("/approve")) body.expected_digest = evil.digest;
    },
  }), "it covers other content"],
  ["a consistent other action, and its digest in the challenge", () => ({
    answer: (body, passed) => {
      if (body?.challenge) body.challenge.digest = passed.body.shown;
      else eachOf(evil.id, asHarmless)(body, passed);
    },
    ask: ({ path, body }) => {
      if (!path.includes("/approve")) return;
      body.shown = body.expected_digest;
      body.expected_digest = evil.digest;
    },
  }), "Cannot"],
];

describe("a program in the place of the socket that shows", () => {
  // Nothing is approved here, so all of them can try their luck on the same actions.
  beforeAll(async () => {
    await open();
    await hold();
  });
  afterAll(close);
  test.each(TRICKS)("%s gets no approval", async (_, tricks, why) => {
    between.tricks = tricks();
    const refused = await approve(evil.id);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(why);
    await expectHeld();
  });
});

describe("between a person and the daemon", () => {
  beforeAll(open);
  beforeEach(hold);
  afterEach(clear);
  afterAll(close);

  test("an action that passes unchanged is approved", async () => {
    expect(await approve(harmless.id)).toMatchObject({ code: 0 });
    expect(gated.onDisk("notes.txt")).toBe("harmless\n");
  });

  test("an approval that is sent to another action is not signed", async () => {
    between.tricks = {
      ask: (passed) => {
        if (!passed.path.includes("/approve")) return;
        passed.path = passed.path.replace(harmless.id, evil.id);
        passed.body.expected_digest = evil.digest;
      },
    };
    const refused = await approve(harmless.id);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(
      `Cannot sign the decision: the daemon's challenge is not about this request`,
    );
    expect(refused.stderr).toContain("try: gate doctor");
    await expectHeld();
  });

  test("a permit is signed for the places that the person named", async () => {
    const { id } = await gated.submit("run_command", { command: "npm install" });
    const add: Tricks["ask"] = ({ path, body }) => {
      if (path.includes("/approve")) body.permit = [".git/hooks", ".husky"];
    };
    for (const args of [[], ["--permit", ".husky"]]) {
      between.tricks = { ask: add };
      const refused = await approve(id, ...args);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("it covers other content");
    }
    between.tricks = {};
    for (const args of [["--permit", "gate.config.json"], ["--permit", ".husky", "--edit"]]) {
      expect(await approve(id, ...args)).toMatchObject({ code: 64, stdout: "" });
    }
    expect(await approve(id, "--permit", ".husky")).toMatchObject({ code: 0 });
    const { timeline } = await gated.json("show", id, "--json");
    const { data } = timeline.find(({ type }: Json) => type === "action.approved");
    expect(data.asked).toEqual({ digest: data.digest, permit: [".husky"] });
    await gated.good("audit", "verify");
  });

  test("a proof that is not taken hints at a program in the daemon's place", async () => {
    let calls = 0;
    between.tricks = {
      ask: ({ path, body }) => {
        // The signed request, changed on its way.
        if (path.includes("/approve") && ++calls === 2) body.permit = [".husky"];
      },
    };
    const { id } = await gated.submit("run_command", { command: "npm ci" });
    const refused = await approve(id);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("another program may have taken the daemon's port or socket");
    expect(refused.stderr).toContain("try: gate doctor");
    between.tricks = {};
    expect(await gated.json("show", id, "--json")).toMatchObject({ status: "pending" });
    expect(await approve(id)).toMatchObject({ code: 0 });
  });

  test("a challenge that lives longer than gate's is not signed", async () => {
    between.tricks = {
      answer: (body) => {
        if (body.challenge) body.challenge.expires_at = "2099-01-01T00:00:00.000Z";
      },
    };
    const refused = await approve(evil.id);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("it expires later than a challenge of gate does");
    await expectHeld();
  });

  test("the number of an acceptance neither jumps back nor too far", async () => {
    const accept = () =>
      gated.terminal.run(["config", "accept", "--passphrase-stdin"], {
        input: `${PASSPHRASE}\n`,
      });
    const loosen = (allowedCommands: string[]) => {
      const config = { id: "web", policies: { defaultEffect: "ask", allowedCommands } };
      writeFileSync(join(gated.folder, "gate.config.json"), JSON.stringify(config));
    };
    const lie = (change: (number: number) => number): Tricks["answer"] => (body) => {
      for (const one of body?.outside_changes ?? []) one.number = change(one.number);
    };
    loosen(["ls"]);
    between.tricks = { answer: lie((number) => number + 100_000) };
    const far = await accept();
    expect(far).toMatchObject({ code: 1, stdout: expect.not.stringContaining("accepted:") });
    expect(far.stderr).toMatch(/Cannot accept .* but the newest one that this user knows is 0/);
    expect(far.stderr).toContain("try: gate audit verify");
    between.tricks = {};
    expect(await accept()).toMatchObject({ code: 0 });
    loosen(["ls", "pwd"]);
    between.tricks = { answer: lie(() => 1) };
    const back = await accept();
    expect(back.code).toBe(1);
    expect(back.stderr).toMatch(/Cannot accept .* but this user has accepted number \d+ before/);
    between.tricks = {};
    expect(await accept()).toMatchObject({ code: 0 });
  });

  test("the programs of a command are those that the digest names", async () => {
    writeFileSync(join(gated.folder, "say"), "#!/bin/sh\necho said\n", { mode: 0o755 });
    const { id } = await gated.submit("run_command", { command: "./say hello" });
    const elsewhere = (one: Json) => {
      one.path = "/usr/bin/true";
      delete one.changeable;
    };
    const tricks: [(action: Json) => void, string][] = [
      [(action) => action.programs = [], "the shown programs are other ones"],
      [(action) => action.programs = null, "the shown programs are other ones"],
      [(action) => elsewhere(action.programs[0]), "the shown programs are other ones"],
      [(action) => {
        for (const all of [action.programs, action.signed?.programs]) if (all) elsewhere(all[0]);
      }, "its plan is another one"],
    ];
    for (const [trick, why] of tricks) {
      between.tricks = { answer: eachOf(id, (action) => action.programs && trick(action)) };
      for (const ended of [await approve(id), await gated.terminal.run(["show", id])]) {
        expect(ended.code).toBe(1);
        expect(ended.stderr).toContain(why);
      }
    }
    between.tricks = {};
    expect(await approve(id)).toMatchObject({ code: 0 });
  });

  test("the input of a foreign tool is what the digest names, whole or shortened", async () => {
    for (const input of [{ repo: "a/b" }, { repo: "a/b", text: "x".repeat(10_000) }]) {
      const held = await gated.submit("mcp__forge__delete_repo", input);
      const tricks: Record<string, (action: Json) => void> = {
        another: (action) => action.input && (action.input.repo = "a/c"),
        none: (action) => action.input = null,
      };
      for (const trick of Object.values(tricks)) {
        between.tricks = { answer: eachOf(held.id, trick) };
        const refused = await approve(held.id);
        expect(refused).toMatchObject({ code: 1, stdout: "" });
        expect(refused.stderr).toContain("the shown input is another one");
      }
      between.tricks = {};
      expect(await approve(held.id)).toMatchObject({ code: 0 });
    }
  });

  test("a person sees the whole card before the passphrase, also of several actions", async () => {
    const ended = gated.terminal.run(["approve", evil.id, harmless.id], { person: true });
    await until("it asks", () => gated.terminal.printed().includes("Passphrase to approve"));
    for (const key of `${PASSPHRASE}\r`) gated.terminal.type(key);
    const { code, stderr } = await ended;
    expect(code).toBe(0);
    for (const text of ["evil.txt", evil.digest, "notes.txt", harmless.digest, "│ harmless"]) {
      expect(stderr).toContain(text);
    }
  });

  test("gate show and gate watch tell that the text is not what the digest names", async () => {
    between.tricks = {
      answer: eachOf(evil.id, (action) => action.after && (action.after.text = "harmless\n")),
    };
    const shown = await gated.terminal.run(["show", evil.id]);
    expect(shown.code).toBe(1);
    expect(shown.stderr).toContain(
      "Cannot sign the decision: the action is not the one that its digest names",
    );
    gated.terminal.env["TERM"] = "dumb";
    onTestFinished(() => void delete gated.terminal.env["TERM"]);
    const watched = gated.terminal.run(["watch"], { person: true });
    const { printed, type } = gated.terminal;
    await until("one is shown", () => printed().includes("(1 of 2 held actions)"));
    type("j");
    await until("the other is shown", () => printed().includes("(2 of 2 held actions)"));
    type("q");
    const { stdout } = await watched;
    expect(stdout).toContain(
      "✗ Cannot sign the decision: the action is not the one that its digest names",
    );
    // It asks about the other action only.
    expect(stdout.match(/Approve this action\?/g)).toHaveLength(1);
    expect(stdout).toMatch(
      /This action cannot be approved here\. \(\d of 2[^)]*\)\nr reject {2}j next/,
    );
  });

  test("a rollback is signed for the action and the way that were asked for", async () => {
    between.tricks = {};
    expect(await approve(harmless.id)).toMatchObject({ code: 0 });
    expect(await approve(evil.id)).toMatchObject({ code: 0 });
    const rollback = () =>
      gated.terminal.run(["rollback", harmless.id, "--passphrase-stdin"], {
        input: `${PASSPHRASE}\n`,
      });
    const tricks: ((passed: { path: string; body: Json }) => void)[] = [
      (passed) => passed.body.on_conflict = "force",
      (passed) => {
        passed.path = passed.path.replace(harmless.id, evil.id);
        passed.body.expected_digest = evil.digest;
      },
    ];
    for (const trick of tricks) {
      between.tricks = { ask: (passed) => passed.path.includes("/rollback") && trick(passed) };
      const refused = await rollback();
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("the daemon's challenge is not about this request");
    }
    const { session_id } = harmless;
    between.tricks = {
      ask: (passed) => {
        if (passed.path.includes("/rollback")) passed.body.on_conflict = "force";
      },
    };
    const whole = await gated.terminal.run(
      ["session", "rollback", session_id, "--passphrase-stdin"],
      { input: `${PASSPHRASE}\n` },
    );
    expect(whole.stderr).toContain("it covers other content");
    expect([gated.onDisk("evil.txt"), gated.onDisk("notes.txt")]).toEqual(["evil\n", "harmless\n"]);
    between.tricks = {};
    expect(await rollback()).toMatchObject({ code: 0 });
    expect(gated.onDisk("notes.txt")).toBeNull();
  });
});
