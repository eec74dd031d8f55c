import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { platform } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Finding } from "../../../server/doctor/schema.ts";
import { lookForEngine } from "../../../server/sandbox/engine.ts";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";
import { snapshot } from "../hosts/stage.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";
import { diagnose, save } from "./diagnose.ts";

/** The expected finding for one fault. */
type Expected = [
  check: string,
  level: Finding["level"],
  message: RegExp,
  fix: RegExp,
  repair?: Finding["repair"],
];

describe("on a machine without gate data", () => {
  let terminal: TestTerminal;
  beforeEach(async () => void (terminal = await createTerminal()));
  afterEach(() => terminal.close());

  test("doctor finds no problem and writes no file", async () => {
    const before = snapshot(terminal.folder);
    const { ok, findings } = await diagnose(terminal);
    expect(ok).toBe(true);
    expect(new Set(findings.map(({ check }) => check)).size).toBe(19);
    const { engine, why } = await lookForEngine();
    expect(findings.find(({ check }) => check === "sandbox")).toMatchObject({
      level: "ok",
      message: expect.stringContaining(engine ? `${engine.name} ${engine.version}` : why!),
    });
    expect(snapshot(terminal.folder)).toEqual(before);
  });

  test("doctor reports another program on the port and does not stop it", async () => {
    const server = createServer();
    const port = Number(terminal.env.GATE_PORT);
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    const { problems } = await diagnose(terminal);
    const finding = problems.find(({ check }) => check === "port");
    expect(finding).toMatchObject({ level: "problem", fix: expect.stringContaining("stop it") });
    expect(server.listening).toBe(true);
    await new Promise((resolve) => server.close(resolve));
  });

  test("doctor reports a clock that was set back", async () => {
    const logs = join(terminal.folder, ".gate", "logs");
    mkdirSync(logs, { recursive: true, mode: 0o700 });
    chmodSync(join(terminal.folder, ".gate"), 0o700);
    writeFileSync(join(logs, "daemon.log"), "");
    const later = new Date(Date.now() + 3_600_000);
    utimesSync(join(logs, "daemon.log"), later, later);
    expect((await diagnose(terminal)).problems).toContainEqual(
      expect.objectContaining({ check: "clock", level: "problem" }),
    );
  });
});

describe("in a project with a running daemon", () => {
  let gated: GatedProject;
  let home: string;
  let restore: () => void;
  beforeAll(async () => {
    gated = await openGatedProject("none");
    const input = "correct horse battery\n";
    await gated.terminal.run(["proof", "set", "--passphrase-stdin"], { input });
    home = join(gated.terminal.folder, ".gate");
    mkdirSync(join(gated.terminal.folder, ".cursor"));
    await gated.good("global-setup", "--host", "cursor", "--enforce");
    await gated.good("update-instructions");
    const tokens = ["agent", "viewer", "reviewer"].map((name) => join(home, "tokens", name));
    const agents = join(gated.folder, "AGENTS.md");
    const mcp = join(gated.folder, ".mcp.json");
    restore = save([
      home,
      ...tokens,
      join(home, "config.json"),
      cursor(),
      hooks(),
      config(),
      agents,
      mcp,
    ]);
  });
  afterEach(() => restore());
  afterAll(() => gated.close());

  const cursor = () => join(gated.terminal.folder, ".cursor", "mcp.json");
  const hooks = () => join(gated.terminal.folder, ".cursor", "hooks.json");
  const config = () => join(gated.folder, "gate.config.json");

  test("doctor finds no problem and says so", async () => {
    expect((await diagnose(gated.terminal)).problems).toEqual([]);
    const { stdout } = await gated.good("doctor");
    expect(stdout).toContain("Cursor starts this gate");
    expect(stdout).toContain("No problems were found.");
  });

  test("doctor reports a config that is gone; daemon and config say the same", async () => {
    rmSync(config());
    const { problems } = await diagnose(gated.terminal);
    expect(problems.map(({ check }) => check)).toEqual(["daemon", "config"]);
    for (const { message } of problems) {
      expect(message).toMatch(
        /gate\.config\.json.* is gone: the rules that were accepted last apply/,
      );
    }
    expect(problems[1]!.fix).toContain("gate init");
  });

  const ENTRY = { kind: "host", host: "cursor", enforce: false } as const;
  const HOOKS = { ...ENTRY, enforce: true };

  // Each fault in a healthy gate must add exactly this finding.
  const FAULTS: [what: string, plant: () => void, finding: Expected][] = [
    [
      "a broken config",
      () => writeFileSync(config(), '{\n "id": "web", ]'),
      ["config", "problem", /gate\.config\.json:2:\d+: not valid JSON/, /^correct /],
    ],
    [
      "a rule whose example fails",
      () =>
        writeFileSync(
          config(),
          JSON.stringify({
            id: "web",
            policies: { blockedPaths: [{ pattern: ".env", match: ["src/a.ts"] }] },
          }),
        ),
      ["config", "problem", /src\/a\.ts/, /^correct /],
    ],
    [
      "a config that allows more than was accepted",
      () =>
        writeFileSync(
          config(),
          JSON.stringify({ ...CONFIG, policies: { ...CONFIG.policies, defaultEffect: "allow" } }),
        ),
      [
        "config",
        "warning",
        /^a change of .*gate\.config\.json waits: what it allows is not in force/,
        /^gate config show --project web, then gate config accept --project web$/,
        { kind: "page", page: "policy", project: "web" },
      ],
    ],
    [
      "a broken global config",
      () => writeFileSync(join(home, "config.json"), "{"),
      ["config", "problem", /config\.json:1:/, /^gate global-config edit$/],
    ],
    [
      "a host entry whose program is missing",
      () =>
        writeFileSync(
          cursor(),
          JSON.stringify({ mcpServers: { gate: { command: "/gone/gate", args: ["mcp"] } } }),
        ),
      [
        "hosts",
        "problem",
        /starts \/gone\/gate, which is not/,
        /^gate global-setup --host cursor$/,
        ENTRY,
      ],
    ],
    [
      "a host without an entry",
      () => writeFileSync(cursor(), "{}"),
      [
        "hosts",
        "warning",
        /Cursor has no entry for gate/,
        /^gate global-setup --host cursor$/,
        ENTRY,
      ],
    ],
    [
      "a broken host settings file",
      () => writeFileSync(cursor(), '{\n "a": ]}'),
      ["hosts", "problem", /line 2, column 7/, /./],
    ],
    [
      "a host without hooks",
      () => writeFileSync(hooks(), "{}"),
      [
        "hooks",
        "warning",
        /gate does not check Cursor's own tools/,
        /^gate global-setup --enforce --host c/,
        HOOKS,
      ],
    ],
    [
      "a hook that does not refuse when it fails",
      () =>
        writeFileSync(
          hooks(),
          readFileSync(hooks(), "utf8").replace('"failClosed": true', '"failClosed": false'),
        ),
      [
        "hooks",
        "problem",
        /Cursor's hooks are incomplete/,
        /^gate global-setup --enforce --host c/,
        HOOKS,
      ],
    ],
    [
      "an old gate entry",
      () =>
        writeFileSync(
          join(gated.folder, ".mcp.json"),
          JSON.stringify({
            mcpServers: { "gate-web": { command: "gate", args: ["mcp", "--project", "web"] } },
          }),
        ),
      ["old entries", "warning", /gate-web of Claude Code/, /^gate cleanup-mcp$/],
    ],
    [
      "outdated instructions",
      () => {
        const file = join(gated.folder, "AGENTS.md");
        const text = readFileSync(file, "utf8");
        writeFileSync(file, text.replace("Follow it, and never", "Follow it or"));
      },
      ["instructions", "warning", /AGENTS\.md/, /update-instructions/, { kind: "instructions" }],
    ],
  ];

  const POSIX_FAULTS: typeof FAULTS = [
    [
      "a token that others can read",
      () => chmodSync(join(home, "tokens", "agent"), 0o644),
      ["tokens", "problem", /others may read .*agent/, /^chmod 600 ".*agent"$/, { kind: "home" }],
    ],
    [
      "a home that others can list",
      () => chmodSync(home, 0o755),
      ["home", "warning", /others may look into/, /^chmod 700 /, { kind: "home" }],
    ],
  ];

  test.each([...FAULTS, ...platform() === "win32" ? [] : POSIX_FAULTS])(
    "doctor reports %s, with a fix",
    async (_what, plant, [check, level, message, fix, repair = null]) => {
      plant();
      const { problems } = await diagnose(gated.terminal);
      expect(problems).toEqual([{
        check,
        level,
        message: expect.stringMatching(message),
        fix: expect.stringMatching(fix),
        repair,
      }]);
    },
  );

  test("doctor reports a damaged ledger and moves no file", async () => {
    for (let n = 0; n < 40; n++) await gated.write(`src/${n}.ts`, "x".repeat(900));
    await gated.good("daemon", "stop");
    const ledger = join(home, "projects", "web", "ledger.db");
    const bytes = readFileSync(ledger);
    bytes.fill(0xff, 8192, 40960);
    writeFileSync(ledger, bytes);
    const names = readdirSync(join(home, "projects", "web"));
    const { problems } = await diagnose(gated.terminal);
    const damaged = problems.filter(({ check }) => check === "ledgers");
    expect(damaged).toMatchObject([{ level: "problem", message: expect.stringContaining(ledger) }]);
    expect(readdirSync(join(home, "projects", "web")).sort()).toEqual(names.sort());
    await gated.good("daemon", "start");
  });
});
