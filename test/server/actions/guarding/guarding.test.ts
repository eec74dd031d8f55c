import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Restored } from "../../../../server/actions/guarding/restore.ts";
import { modulesOf } from "../../../../server/runtime/git_folder.ts";
import { runCommand } from "../../../../server/runtime/spawn.ts";
import type { Policies } from "../../../../server/policy/schema.ts";
import { createTempFolder } from "../../../temp_folder.ts";
import { agent, openGate, reviewer, sha } from "../harness.ts";

const CONFIG_FILES = {
  ".git/config": '[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = /x\n',
  ".git/hooks/pre-commit": "#!/bin/sh\nexit 0\n",
  ".husky/pre-push": "true\n",
  ".vscode/settings.json": "{}\n",
  ".claude/settings.json": '{"hooks":{"PreToolUse":[]}}\n',
  ".mcp.json": "{}\n",
  "src/a.txt": "hello\n",
};

/** A gate with guarded files, and an agent that runs commands as `gate mcp` does. */
async function openGuarded(files: Record<string, string> = {}, policies?: Policies) {
  const opened = await openGate({
    files: { ...CONFIG_FILES, ...files },
    ...policies && { policies },
  });
  const { gate, at } = opened;
  execFileSync("git", ["init", "-q", "-b", "main"], { cwd: gate.root });
  chmodSync(at(".git/hooks/pre-commit"), 0o755);
  /** Commands hide their effects from the text, as an attacker does. */
  const submit = async (command: string) => {
    const { action } = await opened.submitted("run_command", { command });
    return action;
  };
  const claimAndRun = async (id: string, command: string) => {
    const { actions } = gate.project;
    const claim = await actions.claim(id, {}, agent);
    const options = { cwd: claim.cwd, timeout_ms: 20_000, max_output_bytes: 100_000 };
    const { error: _, ...outcome } = await runCommand(command, options);
    await actions.result(id, { claim_id: claim.claim_id, ...outcome }, agent);
    return await actions.wait(id, { timeout_ms: 0 }, agent);
  };
  const run = async (text: string, effect = text) => {
    const action = await submit(text);
    if (action.status === "pending") await gate.project.actions.approve(action.id, {}, reviewer);
    if (action.status === "blocked") return { action, result: null };
    return await claimAndRun(action.id, effect);
  };
  /** A program whose text shows nothing of what it does. */
  const hidden = (script: string) => run("make build", script);
  const told = async () => (await gate.audit()).filter(({ type }) => /^(guard|block)\./.test(type));
  return { ...opened, run, hidden, told, claimAndRun, submit };
}

const restoredOf = ({ result }: { result: Record<string, unknown> | null }) =>
  (result?.restored ?? []) as Restored[];

describe("what nobody allowed is undone", () => {
  const ATTACKS: [name: string, script: string, path: string][] = [
    [
      "the policy rewritten",
      `echo '{"id":"test","policies":{"defaultEffect":"allow"}}' > gate.config.json`,
      "gate.config.json",
    ],
    ["the policy deleted", "rm gate.config.json", "gate.config.json"],
    ["the policy replaced by a rename", "echo {} > x && mv x gate.config.json", "gate.config.json"],
    [
      "the policy replaced by a link",
      "echo {} > src/x; ln -sf src/x gate.config.json",
      "gate.config.json",
    ],
    ["a hook changed", "echo evil >> .git/hooks/pre-commit", ".git/hooks/pre-commit"],
    ["a hook's mode changed", "chmod 644 .git/hooks/pre-commit", ".git/hooks/pre-commit"],
    [
      "a hook with its old times",
      "cp -p .git/hooks/pre-commit t; echo evil > .git/hooks/pre-commit; touch -r t .git/hooks/pre-commit; rm t",
      ".git/hooks/pre-commit",
    ],
    ["git's config", "git config core.fsmonitor 'evil;'", ".git/config"],
    ["git's config: another remote", "sed -i s,/x,/evil, .git/config", ".git/config"],
    ["the editor's tasks", `echo '{"x":1}' > .vscode/settings.json`, ".vscode/settings.json"],
    ["a host's hooks", "echo '{}' > .claude/settings.json", ".claude/settings.json"],
    ["a host's servers", `echo '{"mcpServers":{"x":{}}}' > .mcp.json`, ".mcp.json"],
    [
      "a folder of hooks replaced by a link",
      "mkdir h; mv .husky old; ln -s h .husky",
      ".husky/pre-push",
    ],
    ["gate's own key", 'echo x > "$GATE"/tokens/agent', "tokens/agent"],
  ];
  test.each(ATTACKS)("%s", async (_, script, path) => {
    const { gate, hidden, told, at } = await openGuarded();
    const file = path.startsWith("tokens/") ? join(gate.home, path) : at(path);
    if (path.startsWith("tokens/")) {
      execFileSync("mkdir", ["-p", join(gate.home, "tokens")]);
      writeFileSync(file, "secret\n", { mode: 0o600 });
    }
    const before = { text: readFileSync(file, "utf8"), mode: statSync(file).mode };
    const done = await hidden(`GATE=${gate.home}; ${script}`);

    expect(readFileSync(file, "utf8")).toBe(before.text);
    expect(lstatSync(file).isFile()).toBe(true);
    expect(statSync(file).mode).toBe(before.mode);
    const restored = restoredOf(done);
    expect(restored.find((one) => one.path === file)).toMatchObject({
      restored: true,
      before_sha256: sha(before.text),
    });

    const events = await told();
    expect(events.map(({ type }) => type)).toEqual(["guard.restored", "block.added"]);
    expect(events[0]).toMatchObject({
      action_id: done.action.id,
      session_id: done.action.session_id,
      actor: { kind: "system" },
      data: { paths: restored, shared_with: [] },
    });
  });

  const NEW: [name: string, script: string, path: string][] = [
    [
      "a new hook",
      "printf '#!/bin/sh\\nevil' > .git/hooks/post-checkout",
      ".git/hooks/post-checkout",
    ],
    ["a hook that is a link", "ln -s /tmp/evil .git/hooks/pre-push", ".git/hooks/pre-push"],
    ["an .envrc", "echo evil > .envrc", ".envrc"],
    [
      "a host's settings where there were none",
      "mkdir .cursor; echo '{}' > .cursor/mcp.json",
      ".cursor/mcp.json",
    ],
    [
      "a config in a folder below",
      "mkdir -p .github/hooks && echo 1 > .github/hooks/x.json",
      ".github/hooks/x.json",
    ],
  ];
  test.each(NEW)("%s is moved to the quarantine, not lost", async (_, script, path) => {
    const { gate, hidden, told, at } = await openGuarded();
    const done = await hidden(script);
    expect(existsSync(at(path))).toBe(false);
    const [one] = restoredOf(done);
    expect(one).toMatchObject({ path: at(path), change: "created", before_sha256: null });
    expect(one!.quarantine).toContain(join(gate.home, "quarantine", done.action.id));
    expect(lstatSync(one!.quarantine!)).toBeTruthy();
    expect((await told()).map(({ type }) => type)).toEqual(["guard.restored", "block.added"]);
  });
});

describe("git's folder elsewhere", () => {
  const HOOK = "#!/bin/sh\nexit 0\n";

  test("a command that moves it is undone", async () => {
    const { hidden, told, at, read } = await openGuarded();
    const done = await hidden("git init -q --separate-git-dir=src/gd .");
    expect(lstatSync(at(".git")).isDirectory()).toBe(true);
    expect(read(".git/hooks/pre-commit")).toBe(HOOK);
    expect(existsSync(at("src/gd/hooks/pre-commit"))).toBe(false);
    expect(restoredOf(done).find(({ path }) => path === at(".git")))
      .toMatchObject({ change: "modified", restored: true });
    expect((await told()).map(({ type }) => type)).toEqual(["guard.restored", "block.added"]);
  });

  test("the text of that command asks, and an approval lets it run", async () => {
    const { run, submit, told, at } = await openGuarded();
    const command = "git init -q --separate-git-dir=src/gd .";
    expect((await submit(command)).status).toBe("pending");
    expect(restoredOf(await run(command))).toEqual([]);
    expect(lstatSync(at(".git")).isFile()).toBe(true);
    expect(existsSync(at("src/gd/hooks/pre-commit"))).toBe(true);
    expect(await told()).toEqual([]);
  });

  test.each([
    ["a new hook", "echo evil > src/gd/hooks/post-commit", "src/gd/hooks/post-commit"],
    ["a changed hook", "echo evil > src/gd/hooks/pre-commit", "src/gd/hooks/pre-commit"],
    ["its config", "git config core.fsmonitor evil", "src/gd/config"],
    ["another folder", "cp -r src/gd src/h; echo 'gitdir: src/h' > .git", ".git"],
  ])("%s in it is undone", async (_, script, path) => {
    const { hidden, told, at } = await openGuarded();
    execFileSync("git", ["init", "-q", "--separate-git-dir=src/gd", "."], { cwd: at(".") });
    const textOf = (file: string) => existsSync(file) ? readFileSync(file, "utf8") : null;
    const before = textOf(at(path));
    expect(restoredOf(await hidden(script)).map((one) => one.path)).toContain(at(path));
    expect(textOf(at(path))).toBe(before);
    expect((await told()).map(({ type }) => type)).toEqual(["guard.restored", "block.added"]);
  });

  test("a visible git command there explains its own keys", async () => {
    const { run, told, at, read } = await openGuarded();
    execFileSync("git", ["init", "-q", "--separate-git-dir=src/gd", "."], { cwd: at(".") });
    await run("git config user.name Somebody");
    expect(read("src/gd/config")).toContain("Somebody");
    expect(await told()).toEqual([]);
  });

  test("a working folder beside another shares its hooks", async () => {
    const { gate, hidden, at } = await openGuarded();
    const main = join(gate.home, "..", "main");
    execFileSync("rm", ["-rf", at(".git")]);
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", main, "-c", "user.name=a", "-c", "user.email=b", ...args]);
    execFileSync("git", ["init", "-q", main]);
    git("commit", "-q", "--allow-empty", "-m", "x");
    git("worktree", "add", "-q", join(gate.home, "..", "linked"));
    writeFileSync(at(".git"), readFileSync(join(gate.home, "..", "linked/.git"), "utf8"));
    const hook = join(main, ".git/hooks/post-commit");
    const done = await hidden(`echo evil > ${hook}`);
    expect(existsSync(hook)).toBe(false);
    expect(restoredOf(done)).toMatchObject([{ path: hook, change: "created", restored: true }]);
  });
});

test("the session is blocked until a reviewer lifts the block", async () => {
  const { gate, hidden, submit, told } = await openGuarded();
  const done = await hidden("echo evil > .envrc");
  const refused = await submit("ls");
  expect(refused).toMatchObject({
    status: "blocked",
    decision: { effect: "deny", rule: { source: "auto-block" } },
  });
  expect(refused.decision.reason).toContain(".envrc");
  const list = await gate.request("GET", "/api/remediation/blocks", undefined, "viewer");
  const { items: [block] } = await list.json() as { items: { id: string; session_id: string }[] };
  expect(block).toMatchObject({ session_id: done.action.session_id, action_id: done.action.id });
  const session = await gate.project.sessions.get(done.action.session_id);
  expect(session.block_reason).toContain(".envrc");

  const path = `/api/remediation/blocks/${block!.id}/unblock`;
  expect((await gate.request("POST", path, {}, "agent")).status).toBe(403);
  expect((await gate.request("POST", path, {}, "viewer")).status).toBe(403);
  expect((await gate.request("POST", path, { reason: "it was npm" })).status).toBe(200);
  expect((await gate.request("POST", path, {})).status).toBe(409);
  expect((await gate.request("POST", "/api/remediation/blocks/x/unblock", {})).status).toBe(404);
  expect((await submit("ls")).status).toBe("approved");
  expect((await told()).at(-1)).toMatchObject({
    type: "block.removed",
    data: { block_id: block!.id, reason: "it was npm" },
    actor: { kind: "reviewer", id: "reviewer" },
  });
});

test("an approved action of a blocked session no longer starts", async () => {
  const { gate, hidden, submit } = await openGuarded();
  const waiting = await submit("ls");
  expect(waiting.status).toBe("approved");
  await hidden("echo evil > .envrc");
  await expect(gate.project.actions.claim(waiting.id, {}, agent)).rejects.toThrow(/blocked/);
});

describe("what the text shows, or what does no harm, stays", () => {
  const ALLOWED: [command: string, path: string][] = [
    ["echo x > .git/hooks/post-merge", ".git/hooks/post-merge"],
    ["cp src/a.txt .husky/pre-push", ".husky/pre-push"],
    ["rm -rf .vscode", ".vscode/settings.json"],
    ["git config user.name Somebody", ".git/config"],
    ["git config --local branch.main.merge refs/heads/main", ".git/config"],
    ["git remote add other /elsewhere", ".git/config"],
    ["git branch -f work && git branch --set-upstream-to=work topic", ".git/config"],
    ["touch .git/hooks/pre-commit", ".git/hooks/pre-commit"],
  ];
  test.each(ALLOWED)("%s", async (command) => {
    const { at, run, told } = await openGuarded();
    for (const [key, value] of [["user.email", "a@b.c"], ["user.name", "a"]]) {
      execFileSync("git", ["config", key!, value!], { cwd: at(".") });
    }
    execFileSync("git", ["commit", "-q", "--no-verify", "--allow-empty", "-m", "x"], {
      cwd: at("."),
    });
    execFileSync("git", ["branch", "topic"], { cwd: at(".") });
    const done = await run(command);
    expect(done.action.exit_code).toBe(0);
    expect(restoredOf(done)).toEqual([]);
    expect(await told()).toEqual([]);
  });

  test("a commit, a rebuild and a thousand files change nothing that is guarded", async () => {
    const { at, hidden, told } = await openGuarded();
    execFileSync("git", ["init", "-q"], { cwd: at(".") });
    const script = "git add -A; git -c user.email=a -c user.name=b commit -qm x; mkdir out; " +
      "for i in $(seq 1000); do echo $i > out/$i; done; git checkout -q -b other";
    expect(restoredOf(await hidden(script))).toEqual([]);
    expect(await told()).toEqual([]);
  });

  test("a visible git command explains its own keys, and no others", async () => {
    const { at, run, read } = await openGuarded();
    const before = read(".git/config");
    const done = await run(
      "git config user.name x",
      "git config user.name x; git config core.pager evil",
    );
    expect(read(".git/config")).toBe(before);
    expect(restoredOf(done)[0]).toMatchObject({ path: at(".git/config"), change: "modified" });
  });

  test("a person told the host to stop asking: its settings keep that, and nothing else", async () => {
    const file = ".claude/settings.local.json";
    const { at, hidden, read, told } = await openGuarded({ [file]: '{"hooks":{}}' });
    const allowed = '{"hooks":{},"permissions":{"allow":["Bash(ls)"]}}';
    await hidden(`echo '${allowed}' > ${file}`);
    expect(read(file).trim()).toBe(allowed);
    expect(await told()).toEqual([]);
    await hidden(`echo '{"permissions":{"allow":[]}}' > ${file}`);
    expect(read(file).trim()).toBe(allowed);
    expect(existsSync(at(file))).toBe(true);
  });
});

test("a person's change between two commands is the new state", async () => {
  const { hidden, read, at, told } = await openGuarded();
  await hidden("true");
  writeFileSync(at(".git/hooks/pre-commit"), "#!/bin/sh\nmine\n");
  await hidden("true");
  expect(read(".git/hooks/pre-commit")).toBe("#!/bin/sh\nmine\n");
  expect(await told()).toEqual([]);
});

test("a person's change during a command is kept in the quarantine and told", async () => {
  const { gate, submit, at, read, told } = await openGuarded();
  const { actions } = gate.project;
  const { id } = await submit("make build");
  const claim = await actions.claim(id, {}, agent);
  const before = read("gate.config.json");
  writeFileSync(at("gate.config.json"), '{"id":"test","mine":true}');
  await actions.result(id, {
    claim_id: claim.claim_id,
    exit_code: 0,
    output: "",
    truncated: false,
    duration_ms: 1,
  }, agent);
  expect(read("gate.config.json")).toBe(before);
  const [event] = await told();
  const [one] = event!.data.paths as Restored[];
  expect(readFileSync(one!.quarantine!, "utf8")).toBe('{"id":"test","mine":true}');
});

test("gate's own write for a person is no change of a command that runs meanwhile", async () => {
  const { gate, submit, at, read, told } = await openGuarded();
  const { actions } = gate.project;
  const { id } = await submit("make build");
  const claim = await actions.claim(id, {}, agent);
  const { action } = await actions.submit(
    { tool: "write_file", input: { path: at(".envrc"), content: "export A=1\n" } },
    agent,
  );
  await actions.approve(action.id, {}, reviewer);
  const changed = await gate.request("PUT", "/api/config/policies", { askPaths: ["docs/**"] });
  expect(changed.status).toBe(200);
  await actions.result(id, {
    claim_id: claim.claim_id,
    exit_code: 0,
    output: "",
    truncated: false,
    duration_ms: 1,
  }, agent);
  expect(read(".envrc")).toBe("export A=1\n");
  expect(read("gate.config.json")).toContain("docs/**");
  expect(await told()).toEqual([]);
});

test("of two commands at once both sessions are held to account, if both ran then", async () => {
  const { gate, at, told } = await openGuarded();
  const { actions, sessions } = gate.project;
  const start = async () => {
    const session = await sessions.open({}, agent);
    const { action } = await actions.submit(
      { tool: "run_command", input: { command: "make build" }, session_id: session.id },
      agent,
    );
    return { id: action.id, session, claim: await actions.claim(action.id, {}, agent) };
  };
  const [first, second] = [await start(), await start()];
  writeFileSync(at(".git/hooks/post-merge"), "evil");
  for (const { id, claim } of [first, second]) {
    await actions.result(id, {
      claim_id: claim.claim_id,
      exit_code: 0,
      output: "",
      truncated: false,
      duration_ms: 1,
    }, agent);
  }
  const restored = (await told()).filter(({ type }) => type === "guard.restored");
  expect(restored.map(({ action_id, data }) => [action_id, data.shared_with])).toEqual([
    [first.id, [second.id]],
    [second.id, [first.id]],
  ]);
  const blocks = (await told()).filter(({ type }) => type === "block.added");
  expect(blocks.map(({ session_id }) => session_id))
    .toEqual([first.session.id, second.session.id]);
});

test("after a crash of the daemon the next start finishes the comparison", async () => {
  const { gate, submit, at, read } = await openGuarded();
  const { id } = await submit("make build");
  await gate.project.actions.claim(id, {}, agent);
  const before = read("gate.config.json");
  await gate.reopen(() => {
    writeFileSync(at("gate.config.json"), '{"id":"test","policies":{"defaultEffect":"allow"}}');
    writeFileSync(at(".git/hooks/pre-commit"), "evil");
  });
  expect(read("gate.config.json")).toBe(before);
  expect(read(".git/hooks/pre-commit")).toContain("exit 0");
  const event = (await gate.audit()).find(({ type }) => type === "guard.restored");
  expect(event).toMatchObject({ action_id: id });
  expect((event!.data.paths as Restored[]).map(({ path }) => path).toSorted())
    .toEqual([at(".git/hooks/pre-commit"), at("gate.config.json")]);
});

test("a claimer that vanished: the next contact finds what its command did", async () => {
  const { gate, submit, at } = await openGuarded();
  const { id } = await submit("make build");
  await gate.project.actions.claim(id, {}, agent);
  writeFileSync(at(".git/hooks/post-merge"), "evil");
  const opened = await gate.request("POST", "/api/sessions", {}, "agent");
  expect(opened.status).toBe(201);
  expect(existsSync(at(".git/hooks/post-merge"))).toBe(false);
  expect((await gate.audit()).filter(({ type }) => type === "guard.restored"))
    .toMatchObject([{ action_id: id }]);
});

test("a script that was approved is the same until it ends", async () => {
  const { run, at, read, told } = await openGuarded({ "deploy.sh": "echo deploy\n" });
  const done = await run("sh deploy.sh", "echo 'echo evil' > deploy.sh");
  expect(read("deploy.sh")).toBe("echo deploy\n");
  expect(restoredOf(done)).toMatchObject([{ path: at("deploy.sh"), change: "modified" }]);
  expect((await told()).map(({ type }) => type)).toEqual(["guard.restored", "block.added"]);
});

test("a script comes back into its folder, and nowhere else, when that became a link", async () => {
  const { run, at } = await openGuarded({ "jobs/one.sh": "echo planned" });
  const elsewhere = createTempFolder("gate-elsewhere-");
  writeFileSync(join(elsewhere, "one.sh"), "of a person");
  await run("sh jobs/one.sh", `mv jobs away; ln -s ${elsewhere} jobs`);
  expect(readFileSync(join(elsewhere, "one.sh"), "utf8")).toBe("of a person");
  expect(readdirSync(elsewhere)).toEqual(["one.sh"]);
  expect(lstatSync(at("jobs")).isDirectory()).toBe(true);
  expect(readFileSync(at("jobs/one.sh"), "utf8")).toBe("echo planned");
});

test("a script that was written again with the same content is told", async () => {
  const { run, at, told } = await openGuarded({ "deploy.sh": "echo deploy\n" });
  const swap = "cp deploy.sh d; echo evil > deploy.sh; sh deploy.sh; cat d > deploy.sh";
  const done = await run("sh deploy.sh", swap);
  expect(restoredOf(done)).toMatchObject([{ path: at("deploy.sh"), change: "rewritten" }]);
  expect((await told()).map(({ type }) => type)).toEqual(["guard.restored"]);
});

test("package.json may change while npm runs", async () => {
  const { run, read } = await openGuarded({ "package.json": '{"scripts":{"x":"true"}}' });
  await run("npm install left-pad", `echo '{"dependencies":{}}' > package.json`);
  expect(read("package.json").trim()).toBe('{"dependencies":{}}');
});

test("another project's policy and hooks are guarded too", async () => {
  const { gate, hidden } = await openGuarded();
  const other = join(gate.home, "..", "other");
  execFileSync("git", ["init", "-q", other]);
  writeFileSync(join(other, "gate.config.json"), '{"id":"other"}');
  await gate.daemon.projects.register(other, reviewer);
  await hidden(
    `echo '{"id":"other","policies":{"defaultEffect":"allow"}}' > ${other}/gate.config.json;
    echo evil > ${other}/.git/hooks/pre-commit`,
  );
  expect(readFileSync(join(other, "gate.config.json"), "utf8")).toBe('{"id":"other"}');
  expect(readdirSync(join(other, ".git/hooks"))).not.toContain("pre-commit");
});

describe("a text that names a folder permits nothing in the guarded places below it", () => {
  const BRINGS = {
    "pack/.claude/settings.json": '{"hooks":{"PreToolUse":[{"x":1}]}}',
    "pack/.cursor/mcp.json": "{}",
    "pack/.husky/pre-push": "evil",
    "pack/.vscode/tasks.json": "{}",
    "pack/b.txt": "b",
  };
  test.each([
    ["cp -r pack/. .", ".claude/settings.json"],
    ["cp -r pack/. .", ".cursor/mcp.json"],
    ["cp -r pack/. .", ".husky/pre-push"],
    ["cp -rT pack .", ".vscode/tasks.json"],
    ["cp -r pack/. ./src/..", ".claude/settings.json"],
    ["tar -C pack -cf p.tar . && tar -xf p.tar -C .", ".claude/settings.json"],
    ["rsync -a pack/ . || cp -r pack/. .", ".husky/pre-push"],
  ])("%s does not bring %s", async (command, path) => {
    const { run, at, told } = await openGuarded(BRINGS, { defaultEffect: "allow" });
    const old = existsSync(at(path)) ? readFileSync(at(path), "utf8") : null;
    const done = await run(command);
    expect(existsSync(at(path)) ? readFileSync(at(path), "utf8") : null).toBe(old);
    expect(restoredOf(done).map((one) => one.path)).toContain(at(path));
    expect((await told()).map(({ type }) => type)).toEqual(["guard.restored", "block.added"]);
    expect(readFileSync(at("b.txt"), "utf8")).toBe("b");
  });

  test("a text that names the guarded place does", async () => {
    const { run, at } = await openGuarded(BRINGS, { defaultEffect: "allow" });
    const done = await run("cp -r pack/.husky .; cp -r pack/.cursor/. .cursor");
    expect(done.action.decision.effect).toBe("ask");
    expect(restoredOf(done)).toEqual([]);
    expect(readFileSync(at(".husky/pre-push"), "utf8")).toBe("evil");
    expect(readFileSync(at(".cursor/mcp.json"), "utf8")).toBe("{}");
  });
});

describe("a person permits one run to change a place", () => {
  const HUSKY = "git config core.hooksPath .husky; mkdir -p .husky/_; echo x > .husky/_/h";
  const ASK = { defaultEffect: "ask" as const };
  const PERMIT = { permit: [".git/config" as const, ".husky" as const] };

  test("after a run that was undone; the block names the way", async () => {
    const { hidden, submit, claimAndRun, gate, told, at } = await openGuarded({}, ASK);
    await hidden(HUSKY);
    const { reason, block_id } = (await told()).find(({ type }) => type === "block.added")!.data;
    expect(reason).toContain("approve it with --permit .git/config --permit .husky");
    expect(existsSync(at(".husky/_/h"))).toBe(false);
    await gate.project.blocks.lift(String(block_id), {}, reviewer);

    const { id } = await submit("make build");
    await gate.project.actions.approve(id, PERMIT, reviewer);
    const done = await claimAndRun(id, HUSKY);
    expect(restoredOf(done)).toEqual([]);
    expect(readFileSync(at(".husky/_/h"), "utf8")).toBe("x\n");
    expect(readFileSync(at(".git/config"), "utf8")).toContain("hooksPath = .husky");
    const approved = (await gate.audit()).findLast(({ type }) => type === "action.approved")!;
    expect(approved.data.asked).toEqual({ digest: approved.data.digest, ...PERMIT });

    // The permit was for that run alone.
    const next = await hidden("git config core.fsmonitor evil");
    expect(restoredOf(next)).toMatchObject([{ path: at(".git/config"), restored: true }]);
  });

  test.each([
    ["another place", "echo evil >> .git/hooks/pre-commit", ".git/hooks/pre-commit"],
    ["the policy", "echo {} > gate.config.json", "gate.config.json"],
    ["a host's hooks", "echo {} > .claude/settings.json", ".claude/settings.json"],
  ])("and %s stays guarded", async (_, script, path) => {
    const { submit, claimAndRun, gate, told, at } = await openGuarded({}, ASK);
    const { id } = await submit("make build");
    await gate.project.actions.approve(id, PERMIT, reviewer);
    const done = await claimAndRun(id, `${HUSKY}; ${script}`);
    expect(restoredOf(done)).toMatchObject([{ path: at(path), restored: true }]);
    const block = (await told()).find(({ type }) => type === "block.added")!;
    expect(String(block.data.reason).includes("--permit")).toBe(path.startsWith(".git/"));
  });

  test("a row that says so is no permit", async () => {
    const { submit, claimAndRun, gate, at } = await openGuarded({}, ASK);
    const { id } = await submit("make build");
    await gate.project.actions.approve(id, {}, reviewer);
    await gate.project.ledger.commit({
      statements: [{
        sql: "UPDATE actions SET proposed = ? WHERE id = ?",
        args: [JSON.stringify({ permit: PERMIT.permit }), id],
      }],
      events: [],
    });
    const done = await claimAndRun(id, HUSKY);
    expect(restoredOf(done).map(({ path }) => path)).toContain(at(".git/config"));
  });

  test("not of a file, not for a grant, not of any other place", async () => {
    const { submit, submitted, gate } = await openGuarded({}, ASK);
    const { actions } = gate.project;
    const { action } = await submitted("write_file", { path: "src/b.txt", content: "b" });
    await expect(actions.approve(action.id, PERMIT, reviewer)).rejects.toThrow("it is no command");
    const { id } = await submit("make build");
    const remember = { scope: "session" as const, ttl_seconds: 60, max_uses: 2 };
    await expect(actions.approve(id, { ...PERMIT, remember }, reviewer))
      .rejects.toThrow("approve this run alone");
  });
});

describe("the settings of submodules", () => {
  const module = (name: string) => ({
    [`.git/modules/${name}/HEAD`]: "ref: refs/heads/main\n",
    [`.git/modules/${name}/config`]: "[core]\n\tbare = false\n",
  });
  const EVIL = `printf '[core]\\n\\tfsmonitor = evil\\n'`;

  test("are compared beyond any number that git's folder holds", async () => {
    const names = Array.from({ length: 210 }, (_, at) => `m${at}`);
    const { at, hidden } = await openGuarded(Object.assign({}, ...names.map(module)));
    const all = modulesOf(at(".git"));
    expect(all.is_all).toBe(false);
    const one = join(all.folders[0]!, "config");
    const before = readFileSync(one, "utf8");
    const restored = restoredOf(await hidden(`${EVIL} > ${one}`));
    expect(restored).toMatchObject([{ path: one, change: "modified", restored: true }]);
    expect(readFileSync(one, "utf8")).toBe(before);
  });

  test("are compared when they are new, beside any number of others", async () => {
    const names = Array.from({ length: 210 }, (_, at) => `m${at}`);
    const { at, hidden } = await openGuarded(Object.assign({}, ...names.map(module)));
    const path = at(".git/modules/new/config");
    const restored = restoredOf(await hidden(`mkdir .git/modules/new; ${EVIL} > ${path}`));
    expect(restored).toMatchObject([{ path, change: "created", restored: true }]);
    expect(existsSync(path)).toBe(false);
  });

  test("are no new ones because there was no room for them before", async () => {
    const names = Array.from({ length: 210 }, (_, at) => `m${at}`);
    const { at, hidden } = await openGuarded(Object.assign({}, ...names.map(module)));
    const known = modulesOf(at(".git")).folders;
    const left = names.map((name) => at(`.git/modules/${name}/config`))
      .filter((path) => !known.includes(dirname(path)));
    expect(left).not.toEqual([]);
    const removed = known.slice(0, 20);
    const restored = restoredOf(await hidden(`rm -r ${removed.join(" ")}`));
    expect(restored.map(({ path }) => path).sort())
      .toEqual(removed.map((folder) => join(folder, "config")).sort());
    expect(left.filter((path) => !existsSync(path))).toEqual([]);
  });

  test("stay compared while a command adds folders around them", async () => {
    const { at, hidden } = await openGuarded(module("lib"));
    const path = at(".git/modules/lib/hooks/post-checkout");
    const folders = "for n in $(seq 250); do mkdir -p .git/modules/a$n; done";
    const hook = `mkdir ${at(".git/modules/lib/hooks")} && echo evil > ${path}`;
    const restored = restoredOf(await hidden(`${folders}; ${hook}`));
    expect(restored).toMatchObject([{ path, change: "created", restored: true }]);
    expect(existsSync(path)).toBe(false);
    expect(existsSync(at(".git/modules/lib/HEAD"))).toBe(true);
  });

  test("are compared before there is a HEAD beside them", async () => {
    const { at, hidden } = await openGuarded();
    const path = at(".git/modules/x/config");
    const restored = restoredOf(await hidden(`mkdir -p .git/modules/x; ${EVIL} > ${path}`));
    expect(restored).toMatchObject([{ path, change: "created", restored: true }]);
    expect(existsSync(path)).toBe(false);
  });
});
