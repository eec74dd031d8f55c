import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";

let gated: GatedProject;
beforeAll(async () => void (gated = await openGatedProject()));
afterAll(() => gated.close());

describe("policy test", () => {
  test.each([
    [["--command", "ls -la"], "allow", 0],
    [["--command", "rm -rf /"], "deny", 1],
    [["--path", "src/a.ts", "--action", "write"], "allow", 0],
    [["--path", ".env", "--action", "write"], "deny", 1],
    [["--path", "ls", "--action", "command"], "allow", 0],
  ])("%j is %s", async (args, effect, code) => {
    const ended = await gated.terminal.run(["policy", "test", ...args, "--json"]);
    expect(ended.code).toBe(code);
    expect(JSON.parse(ended.stdout).effect).toBe(effect);
    expect((await gated.terminal.run(["policy", "test", ...args])).stdout).toMatch(
      new RegExp(`^${effect}: `),
    );
  });

  test.each([
    ["ls -la", 0],
    ["npm publish", 3],
    ["rm -rf /", 4],
  ])("--exit-code tells allow, ask and deny apart: %s", async (command, code) => {
    const exact = await gated.terminal.run(["policy", "test", "--command", command, "--exit-code"]);
    expect(exact.code).toBe(code);
    const lines = await gated.terminal.run(["policy", "test", "--jsonl", "--exit-code"], {
      input: `{"command":"ls"}\n${JSON.stringify({ command })}\n`,
    });
    expect(lines.code).toBe(code);
  });

  test("--exit-code keeps 1 for errors and 64 for wrong usage", async () => {
    const gone = await gated.terminal.run(
      ["policy", "test", "--command", "ls", "--exit-code", "--project", "gone"],
    );
    expect(gone.code).toBe(1);
    const unknown = ["policy", "test", "--path", "a", "--action", "frob", "--exit-code"];
    expect((await gated.terminal.run(unknown)).code).toBe(64);
  });

  test("a relative path is meant in the working directory", async () => {
    const cwd = join(gated.folder, "src");
    mkdirSync(cwd);
    const test = (...args: string[]) => gated.terminal.run(["policy", "test", ...args], { cwd });
    expect((await test("--path", "a.ts", "--action", "write")).stdout).toContain(
      'allow: Allowed by "src/**"',
    );
    expect((await test("--command", "cat ../.env")).stdout).toMatch(/^deny: secrets stay here/);
    expect((await test("--path", "a.ts", "--action", "write", "--project", "web")).stdout)
      .toMatch(/^ask: No rule matches "a.ts"/);
  });

  test.each(["test", "explain"])("%s says that the machine's rules decide", async (name) => {
    const { folder: cwd } = gated.terminal;
    const { stdout, stderr } = await gated.terminal.run(["policy", name, "--path", ".env"], {
      cwd,
    });
    expect(stderr).toBe("This folder belongs to no project, so the machine's rules decide.\n");
    expect(stdout).toMatch(/\.env {2}\(machine blockedPaths\)/);
    const plain = await gated.terminal.run(["policy", name, "--path", "plain"], { cwd });
    expect(plain.stdout).toContain(`ask: No rule matches "${join(cwd, "plain")}"`);
  });

  test.each(["test", "explain"])("%s without a question names itself", async (name) => {
    expect(await gated.terminal.run(["policy", name])).toEqual({
      code: 64,
      stdout: "",
      stderr: `gate: Cannot ${name} the policy: no command or path is given; use --command or ` +
        `--path\n  try: gate policy ${name} --command 'rm -rf build'\n`,
    });
  });

  test("explain names no allowed rule for what is denied", async () => {
    const { stdout } = await gated.terminal.run(
      ["policy", "explain", "--command", "ls && cat .env && git push --force"],
    );
    expect(stdout).toContain("deny");
    expect(stdout).not.toMatch(/\(\w+ allowedCommands\)/);
  });

  test("--stdin --jsonl prints one result per input line", async () => {
    const input = '{"command":"ls"}\n\n{"path":".env","action":"write"}\n{"command":"ls -l"}';
    const ended = await gated.terminal.run(["policy", "test", "--stdin", "--jsonl"], { input });
    expect(ended.code).toBe(1);
    expect(ended.stdout.trim().split("\n").map((line) => JSON.parse(line).effect))
      .toEqual(["allow", "deny", "allow"]);
    const allowed = await gated.terminal.run(["policy", "test", "--stdin", "--jsonl"], {
      input: '{"command":"ls"}\n',
    });
    expect(allowed.code).toBe(0);
  });

  test.each([
    ["not json", "Cannot read line 1: it is not JSON"],
    ["[]", "Cannot read line 1: it needs command, or path with action"],
    ['{"command":"ls"}\n{"comand":"ls"}', "Cannot read line 2"],
    ["{}", "Cannot read line 1: no command or path is given"],
    [
      '{"command":"ls"}\n{"action":"write","command":"ls"}',
      'Cannot evaluate line 2: the action "write" takes a path',
    ],
    [
      '{"path":"a","action":"frob"}',
      'Cannot evaluate line 1: "frob" is no action; use write, read, delete, command or',
    ],
  ])("invalid input %j is wrong usage", async (input, message) => {
    const ended = await gated.terminal.run(["policy", "test", "--stdin", "--jsonl"], { input });
    expect(ended.code).toBe(64);
    expect(ended.stderr).toContain(message);
  });
});

test.each([
  [["--path", "a.ts", "--action", "wirte"], '"wirte" is no action; use write, read'],
  [
    ["--path", "a.ts", "--command", "ls", "--action", "command"],
    "it has a command and a path; give one of them",
  ],
])("%j is wrong usage", async (args, message) => {
  const ended = await gated.terminal.run(["policy", "test", ...args]);
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({
    code: 64,
    stderr: expect.stringContaining(message),
  });
});

test("a broken config denies everything, and the reason names the place", async () => {
  const file = join(gated.folder, "gate.config.json");
  writeFileSync(file, '{\n  "id": "web",\n  "policies": { "defaultEffect": "maybe" }\n}');
  const denied = await gated.terminal.run(["policy", "test", "--command", "ls", "--json"]);
  expect(denied.code).toBe(1);
  expect(JSON.parse(denied.stdout).effect).toBe("deny");
  writeFileSync(file, '{\n  "id": "web",\n  oops\n}');
  const broken = await gated.terminal.run(["policy", "test", "--command", "ls"]);
  expect(broken.code).toBe(1);
  expect(broken.stdout + broken.stderr).toMatch(/gate\.config\.json:3:3/);
  writeFileSync(file, JSON.stringify(CONFIG));
  expect((await gated.terminal.run(["policy", "test", "--command", "ls"])).code).toBe(0);
});

describe("policy templates", () => {
  test("says of each template what it allows, asks and denies, why and how often", async () => {
    const { stdout } = await gated.good("policy", "templates");
    expect(stdout.match(/^(strict|balanced|permissive): .+$/gm)).toHaveLength(3);
    expect(stdout.match(/^ {2}asks about \d+ of 100 harmless commands/gm)).toHaveLength(3);
    const rows = stdout.match(/^ {2}(allow|ask {2}|deny ) {2}\S.*\n {9}[A-Z].*\.$/gm)!;
    expect(rows.length).toBe(stdout.match(/^ {2}(allow|ask|deny) +\S/gm)!.length);
    const { stdout: one } = await gated.good("policy", "templates", "permissive");
    expect(one).toMatch(
      /^permissive: [^]*\n {2}ask {4}git push, sudo\n {9}They change what others/,
    );
    expect(one).toContain("  allow  everything else\n");
    expect(one).not.toContain("strict:");
  });

  test("--json prints groups with their reasons", async () => {
    const [balanced, ...none] = await gated.json("policy", "templates", "balanced", "--json");
    expect(none).toEqual([]);
    expect(balanced).toMatchObject({ name: "balanced", rest: { effect: "ask" } });
    expect(balanced.groups.length).toBeGreaterThan(5);
    for (const { reason, rules } of balanced.groups) {
      expect([typeof reason, typeof rules]).toEqual(["string", "object"]);
    }
  });

  test("refuses another name", async () => {
    const ended = await gated.terminal.run(["policy", "templates", "lax"]);
    expect(ended).toMatchObject({ code: 64, stdout: "" });
    expect(ended.stderr).toContain("Allowed choices are strict, balanced, permissive");
  });

  test("policy explain gives the reason of a template's rule", async () => {
    const { stdout } = await gated.good("policy", "explain", "--command", "ls -la");
    expect(stdout).toMatch(/rule {5}ls {2}\(project allowedCommands\)\nwhy {6}They print files of/);
    const { stdout: own } = await gated.terminal.run([
      "policy",
      "explain",
      "--command",
      "cat .env",
    ]);
    expect(own).not.toMatch(/^why /m);
  });
});

describe("policy bench", () => {
  test("scores the lines of a file", async () => {
    const lines = ['{"command": "rm -rf ~", "expect": "stop"}', "", '{"command": "ls", "expect": '];
    writeFileSync(join(gated.folder, "mine.jsonl"), `${lines.join("\n")}"allow"}\n`);
    expect(await gated.json("policy", "bench", "mine.jsonl", "--json")).toMatchObject({
      stop: { cases: 1, stopped: 1 },
      allow: { cases: 1, false_alarms: 0 },
    });
  });

  test("--risk scores a table of labelled actions", async () => {
    const lines = [
      { id: "x1", class: "cloud", command: "terraform apply", level: "high" },
      { id: "x2", tool: "write_file", path: "src/a.ts", content: "a", level: "high" },
    ].map((line) => JSON.stringify(line)).join("\n");
    writeFileSync(join(gated.folder, "risk.jsonl"), lines);
    const bench = ["policy", "bench", "--risk", "risk.jsonl"];
    expect(await gated.json(...bench, "--json")).toMatchObject({
      cases: 2,
      right: 1,
      missed: 1,
      wrong: [{ id: "x2", label: "high", risk: { level: "low" } }],
    });
    const { stdout } = await gated.terminal.run(bench);
    expect(stdout).toContain("agrees        1 of 2  50.0 %");
    expect(stdout).toMatch(/x2: low 2 instead of high\n {2}write_file src\/a\.ts\n {2}creates 2/);
  });

  test.each([
    [[], 64, /Nothing to score: give a table/],
    [["bad.jsonl"], 1, /Cannot read line 1 of the table: it is not JSON/],
    [["bad.jsonl", "--template", "strict"], 64, /a table of risk names no policy/],
  ])("policy bench --risk %j fails with a reason", async (args, code, message) => {
    writeFileSync(join(gated.folder, "bad.jsonl"), "ls\n");
    const ended = await gated.terminal.run(["policy", "bench", "--risk", ...args]);
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) });
  });

  test("judges as if the machine had no sandbox on demand", async () => {
    const ask = (...more: string[]) =>
      gated.json("policy", "test", "--command", "ls", ...more, "--json");
    expect(await ask("--no-sandbox")).toMatchObject({ sandbox: null, sandbox_refused: null });
    expect(await gated.json("policy", "explain", "--command", "ls", "--no-sandbox", "--json"))
      .toMatchObject({ sandbox: null });
  });

  test("prints the questions per hundred commands of a template, or of each line's policy", async () => {
    const lines = [
      { command: "frobnicate", expect: "any" },
      { command: "cat {ROOT}/README.md", expect: "allow", policy: "mine" },
      { command: "ls", expect: "any", policy: "mine" },
      { command: "frobnicate {HOME}/x", expect: "stop", policy: "strict" },
    ].map((line) => JSON.stringify(line)).join("\n");
    writeFileSync(join(gated.folder, "named.jsonl"), lines);
    const policies = { mine: { defaultEffect: "allow", blockedCommands: ["ls"] } };
    writeFileSync(join(gated.folder, "policies.json"), JSON.stringify(policies));
    const bench = ["policy", "bench", "named.jsonl"];
    expect(await gated.json(...bench, "--policies", "policies.json", "--json")).toMatchObject({
      stop: { cases: 1, stopped: 1 },
      allow: { cases: 1, false_alarms: 0 },
      questions: [
        { policy: "corpus", commands: 1, asked: 0, denied: 0, per_hundred: 0 },
        { policy: "mine", commands: 2, asked: 0, denied: 1, per_hundred: 0 },
        {
          ...{ policy: "strict", commands: 1, asked: 1, denied: 0, per_hundred: 100 },
          sandbox: { asked: 1, per_hundred: 100 },
        },
      ],
    });
    const { stdout } = await gated.terminal.run([...bench, "--template", "strict"]);
    expect(stdout).toContain("questions     2 of 4  50.0 per hundred commands  0 denied  (strict)");
    const balanced = await gated.terminal.run([...bench, "--template", "balanced"]);
    expect(balanced.stdout).toMatch(/questions +2 of 4 .*\n +in a sandbox +1 of 4 {2}25\.0 per/);
  });

  test.each([
    ["[1]", /Cannot read the policies: the file needs one JSON object of policies by name/],
    ["{", /Cannot read the policies: the file is not JSON/],
    ['{"mine": {"askCommands": 3}}', /Cannot read the policies: "mine" is no policy/],
    ['{"other": {}}', /Cannot read line 1 of the corpus: no policy is named "mine"/],
    ['{"mine": {"askCommands": [{"pattern": "ls", "match": ["cat"]}]}}', /Cannot use askCommands/],
  ])("policy bench --policies with %s fails with a reason", async (policies, message) => {
    writeFileSync(
      join(gated.folder, "one.jsonl"),
      '{"command": "ls", "expect": "any", "policy": "mine"}',
    );
    writeFileSync(join(gated.folder, "bad.json"), policies);
    const ended = await gated.terminal.run(
      ["policy", "bench", "one.jsonl", "--policies", "bad.json"],
    );
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(message) });
  });

  test.each([
    [[], 64, /Nothing to score: give a corpus.*\n {2}try: gate policy bench my-corpus\.jsonl/],
    [["absent.jsonl"], 1, /Cannot read "absent\.jsonl": it does not exist\n {2}try: gate policy/],
    [["."], 1, /Cannot read "\.": it is a folder/],
    [["bad.jsonl"], 1, /Cannot read line 2 of the corpus: it is not JSON/],
    [["other.jsonl"], 1, /Cannot read line 1 of the corpus: it needs "command"/],
  ])("policy bench %j fails with a reason", async (args, code, message) => {
    writeFileSync(join(gated.folder, "bad.jsonl"), '{"command": "ls", "expect": "any"}\nls\n');
    writeFileSync(join(gated.folder, "other.jsonl"), '{"line": "ls"}\n');
    const ended = await gated.terminal.run(["policy", "bench", ...args]);
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) });
  });
});
