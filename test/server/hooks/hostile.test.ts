import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openAsk, SPEAK } from "./stage.ts";

type Json = Record<string, unknown>;

describe("hostile input is a refusal, never a failure", () => {
  const CALL = SPEAK["claude-code"]!.before("Write", { file_path: "a", content: "x" }, {
    cwd: "/nowhere",
    key: "k",
  });
  let deep: unknown = "x";
  for (let i = 0; i < 50; i++) deep = { deep };
  const BAD: [string, Json, RegExp][] = [
    ["no session", { session_id: undefined }, /session_id/],
    ["a session that is no text", { session_id: 7 }, /session_id/],
    ["a relative folder", { cwd: "." }, /cwd/],
    ["a folder with a NUL", { cwd: "/a\0b" }, /cwd/],
    ["a tool with blanks", { tool_name: "Wri te" }, /ASCII/],
    ["a tool of 5,000 letters", { tool_name: "W".repeat(5_000) }, /ASCII/],
    ["input that is a list", { tool_input: [] }, /tool_input/],
    ["a path with a NUL", { tool_input: { file_path: "a\0b", content: "" } }, /control/],
    ["a path that is no text", { tool_input: { file_path: { a: 1 }, content: "" } }, /which file/],
    ["a path of 9,000 letters", { tool_input: { file_path: "a/".repeat(4_500) } }, /longer|folder/],
    ["a path with bidi marks", { tool_input: { file_path: "a\u202eb", content: "" } }, /invisible/],
    ["a home that nobody expands", { tool_input: { file_path: "~/.ssh/x" } }, /expanded/],
    ["no command", { tool_name: "Bash", tool_input: {} }, /command/],
    ["a command with a NUL", { tool_name: "Bash", tool_input: { command: "a\0b" } }, /well-formed/],
    ["a folder that its host passes over", {
      tool_name: "Bash",
      tool_input: { command: "rm -r x", workdir: "sub" },
    }, /"workdir" is not a folder/],
    ["half a letter", { tool_name: "Bash", tool_input: { command: "echo \ud800" } }, /well-formed/],
    ["an edit without an end", { tool_name: "Edit", tool_input: { edits: 3 } }, /which file/],
    ["a deep input", { tool_name: "Strange", tool_input: { deep } }, /No rule/],
  ];

  test.each(BAD)("%s", async (_what, more, why) => {
    const { gate, raw } = await openAsk("claude-code", { defaultEffect: "deny" });
    const cwd = "cwd" in more ? {} : { cwd: gate.root };
    const said = await raw({ ...CALL, ...cwd, ...more });
    expect(said).toMatch(why);
  });

  test("a session's name of any size is one session", async () => {
    const { gate, raw } = await openAsk("claude-code");
    for (const session_id of ["s".repeat(100_000), "s".repeat(100_000), "a\0b\ud800"]) {
      await raw({ ...CALL, cwd: gate.root, session_id });
    }
    const { items } = await gate.project.sessions.list({});
    expect(items).toHaveLength(2);
    for (const { client } of items) expect(client.length).toBeLessThan(256);
  });

  test("edits that double a file forty times are left to the host, unread", async () => {
    const { gate, ask, actions } = await openAsk("claude-code", { defaultEffect: "allow" });
    gate.write("a", "a");
    const edits = Array(40).fill({ old_string: "a", new_string: "aa", replace_all: true });
    expect(await ask("MultiEdit", { file_path: "a", edits })).toBe("allow");
    const [{ id }] = await actions() as unknown as [{ id: string }];
    const { after } = await gate.project.actions.detail(id);
    expect(after?.text).toBe("a");
  });

  test("paths out of the project are seen by where they lead", async () => {
    const { gate, ask } = await openAsk("claude-code", { defaultEffect: "allow" });
    const outside = realpathSync(mkdtempSync(join(tmpdir(), "gate-outside-")));
    try {
      symlinkSync(outside, join(gate.root, "link"));
      for (const file_path of [`${gate.root}/../x`, "../x", "link/x", "/etc/x", `${outside}/x`]) {
        expect(await ask("Write", { file_path, content: "x" })).toMatch(/outside/);
      }
      expect(await ask("Write", { file_path: "link/../x", content: "x" })).toMatch(/ambiguous|out/);
    } finally {
      rmSync(outside, { recursive: true });
    }
  });

  test("a folder that lies does not take a call out of the project", async () => {
    const { gate, raw } = await openAsk("claude-code", { defaultEffect: "allow" });
    const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "gate-elsewhere-")));
    const at = (tool: string, input: Json) => ({
      ...SPEAK["claude-code"]!.before(tool, input, { cwd: elsewhere, key: "k" }),
    });
    try {
      // The folder of the session decides, not a folder outside of it.
      const dir = `wait_ms=0&project_dir=${encodeURIComponent(gate.root)}`;
      expect(await raw(at("Write", { file_path: "x", content: "" }), dir)).toMatch(/outside/);
      // From a folder of no project the project's rules hold for its files as well.
      const about = at("Write", { file_path: join(gate.root, ".git/hooks/pre-commit") });
      expect(await raw(about)).toBe("held");
      // The machine's own ledger records any other call, and its default is to ask.
      expect(await raw(at("Write", { file_path: "x", content: "" }))).toBe("held");
      const own = at("Write", { file_path: join(gate.home, "config.json"), content: "" });
      expect(await raw(own)).toMatch(/^Blocked by gate/);
      for (
        const around of [
          "",
          "; cat " + "a/".repeat(3_000),
          " x".repeat(30_000),
          "; a".repeat(9_000),
        ]
      ) {
        // A command that is too large to analyse is held, because a part of it may be harmless.
        expect(await raw(at("Bash", { command: `gate approve 1${around}` })))
          .toMatch(around === "" ? /^Blocked/ : /^Blocked|^held$/);
      }
      expect(await raw(at("Bash", { command: 'eval "$X"; ls' }))).toBe("held");
      expect(await raw(at("Bash", { command: "ls -la" }))).toBe("allow");
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  test("a command elsewhere that changes a project's files is judged as one of the project", async () => {
    const { gate, raw } = await openAsk("claude-code", {
      defaultEffect: "allow",
      askPaths: ["held"],
      blockedPaths: ["secret"],
    });
    const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "gate-elsewhere-")));
    const run = (command: string) =>
      raw({
        ...SPEAK["claude-code"]!.before("Bash", { command }, { cwd: elsewhere, key: command }),
      });
    const { root } = gate;
    const linked = join(elsewhere, "link");
    symlinkSync(root, linked);
    const SAID: [string, string | RegExp][] = [
      [`rm ${root}/held`, "held"],
      [`echo x > ${root}/secret`, /^Blocked/],
      [`cd ${root} && rm secret`, /^Blocked/],
      [`rm ${linked}/secret`, /^Blocked/],
      [`sed -i s/a/b/ ${root}/secret`, /^Blocked/],
      // Moving the parent folder moves the project and the gate's data too.
      [`rm -rf ${dirname(root)}`, /^Blocked.*off limits/],
      [`mv ${root} ${elsewhere}/moved`, /^Blocked|held/],
      // The rules of the machine ask about every change, those of the project about a read.
      [`rm ${root}/free`, "held"],
      [`cat ${root}/held`, "held"],
      [`cat ${root}/secret`, /^Blocked/],
      [`cat ${root}/free`, "allow"],
      [`cp ${root}/held ${elsewhere}/copy`, "held"],
      [`rm -rf ${elsewhere}/secret`, "held"],
    ];
    try {
      for (const [command, said] of SAID) {
        expect(await run(command), command).toEqual(
          typeof said === "string" ? said : expect.stringMatching(said),
        );
      }
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  test("outside every project, a person decides on each change of a host's settings", async () => {
    const { raw } = await openAsk("claude-code", { defaultEffect: "allow" });
    const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "gate-elsewhere-")));
    const at = (tool: string, input: Json) => ({
      ...SPEAK["claude-code"]!.before(tool, input, { cwd: elsewhere, key: "k" }),
      // One session with as many critical actions would be blocked.
      session_id: crypto.randomUUID(),
    });
    const home = homedir();
    const SETTINGS = [".claude.json", ".claude/settings.json", ".claude/settings.local.json"]
      .concat([".codex/config.toml", ".codex/hooks.json", ".copilot/hooks/gate.json"])
      .concat([".copilot/mcp-config.json", ".cursor/hooks.json", ".gemini/settings.json"])
      .concat([".qwen/settings.json"]);
    try {
      for (const name of SETTINGS) {
        const file_path = join(home, name);
        expect(await raw(at("Write", { file_path, content: "{}" })), name).toBe("held");
        expect(await raw(at("Bash", { command: `rm ~/${name}` })), name).toBe("held");
        expect(await raw(at("Bash", { command: `echo > ${file_path}` })), name).toBe("held");
        expect(await raw(at("Read", { file_path })), name).toBe("allow");
        expect(await raw(at("Bash", { command: `cat ~/${name}` })), name).toBe("allow");
      }
      // The whole folder, the matches of a glob, and a copy into it under its own name.
      for (
        const command of [
          ...["rm -rf ~/.claude", "mv ~/.codex ~/elsewhere", "cd ~ && rm -rf .cursor"],
          ...["rm -rf ~/.claude/*", "rm ~/.claude/s*", "rm ~/.cl*/settings.json", "rm -rf ~/.c*"],
          ...["cp x/settings.json ~/.claude", "mv x/settings.json ~/.claude/", "rm -rf ~"],
        ]
      ) {
        expect(await raw(at("Bash", { command })), command).toMatch(/^Blocked by gate: |^held$/);
      }
      for (
        const command of [
          ...["rm -rf ~/.claude/plans", "rm -rf ~/.claude/plans/*", "rm ~/*", 'rm "$X"'],
          ...["cp x ~/.claude", "cp ~/.claude/settings.json copy", "rm *", `rm -rf ${elsewhere}`],
        ]
      ) {
        expect(await raw(at("Bash", { command })), command).toBe("held");
      }
      // A person decides on every other change as well.
      for (
        const path of [join(home, ".claude/plans/a.md"), join(elsewhere, ".claude/settings.json")]
      ) {
        expect(await raw(at("Write", { file_path: path, content: "" })), path).toBe("held");
      }
      expect(await raw(at("Bash", { command: "rm -rf ~" }))).toMatch(
        /^Blocked by gate: .*off limits/,
      );
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  const GUARDED = [
    ...[".claude/settings.json", ".claude/settings.local.json", ".codex/hooks.json"],
    ...[".github/hooks/gate.json", ".gemini/settings.json", ".cursor/hooks.json"],
    ".qwen/settings.json",
    ...[".copilot/hooks/gate.json", ".devin/hooks.v1.json", ".mcp.json", "gate.config.json"],
  ];
  test.each(GUARDED)("%s is never written without a person", async (file_path) => {
    const { gate, ask } = await openAsk("claude-code", { defaultEffect: "allow" });
    expect(await ask("Write", { file_path, content: "{}" })).toBe("held");
    expect(await ask("Bash", { command: `echo '{}' > ${file_path}` })).toBe("held");
    expect((await gate.project.testPolicy({ path: file_path })).effect).toBe("ask");
  });

  test("an agent gets nothing done and nothing decided by a hook", async () => {
    const { gate, ask, raw, actions } = await openAsk("claude-code", {
      defaultEffect: "allow",
      askPaths: ["held"],
    });
    expect(await ask("Write", { file_path: "free", content: "x" })).toBe("allow");
    expect(existsSync(join(gate.root, "free"))).toBe(false);
    expect(await ask("Write", { file_path: "held", content: "x" })).toBe("held");
    const at = { cwd: gate.root, key: "k" };
    await raw(SPEAK["claude-code"]!.after("Write", { file_path: "held", content: "x" }, at));
    const [held] = await actions();
    expect(held).toMatchObject({ status: "pending", execution: "none" });
    for (const verb of ["approve", "reject", "approve-with-edit", "rollback", "replay", "claim"]) {
      const { status } = await gate.request(
        "POST",
        `/api/actions/${held!.id}/${verb}`,
        {},
        "agent",
      );
      expect(status).toBeGreaterThanOrEqual(400);
    }
    expect(existsSync(join(gate.root, "held"))).toBe(false);
  });

  test("a host without hooks is not found, and a viewer asks for nothing", async () => {
    const { gate } = await openAsk("claude-code");
    const to = async (host: string, scope: "agent" | "viewer") =>
      await gate.request("POST", `/api/hooks/${host}`, { ...CALL, cwd: gate.root }, scope);
    expect((await to("zed", "agent")).status).toBe(404);
    expect((await to("__proto__", "agent")).status).toBe(404);
    const viewer = await to("claude-code", "viewer");
    expect(SPEAK["claude-code"]!.reason(await viewer.json())).toMatch(/Cannot submit/);
  });
});
