import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createTestGate, type TestGate } from "../../helpers.ts";

const POLICIES = {
  defaultEffect: "ask" as const,
  allowedPaths: ["src/**"],
  blockedPaths: ["secrets/**", ".env"],
  allowedCommands: ["git"],
};

function git(cwd: string, ...args: string[]): string {
  const settings = ["user.name=x", "user.email=x@example.com", "init.defaultBranch=main"];
  const options = settings.flatMap((setting) => ["-c", setting]);
  return execFileSync("git", [...options, ...args], { cwd, encoding: "utf8", stdio: "pipe" });
}

async function createRepository(): Promise<TestGate> {
  const files = { "src/a.ts": "a\n", ".env": "KEY=SECRET\n", "secrets/.git/objects/x": "" };
  const gate = await createTestGate({ policies: POLICIES, files });
  git(gate.root, "init", "-q");
  git(gate.root, "add", "src");
  git(gate.root, "commit", "-qm", "first");
  return gate;
}

function testing(gate: TestGate) {
  return async (command: string) => {
    const body = { command, action: "command" };
    return await (await gate.request("POST", "/api/policy/test", body, "agent")).json();
  };
}

function link(path: string, target: string): void {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path);
}

const OUTSIDE = "/var/empty/outside";

/** A link in git's folder, its target, and the effect of every command of git. */
const LINKS: [name: string, target: string, effect: "ask" | "deny"][] = [
  // Git writes through these.
  ["COMMIT_EDITMSG", OUTSIDE, "ask"],
  ["logs/HEAD", OUTSIDE, "ask"],
  ["logs/refs/heads/main", OUTSIDE, "ask"],
  ["FETCH_HEAD", OUTSIDE, "ask"],
  ["ORIG_HEAD", "config", "ask"],
  ["COMMIT_EDITMSG", "hooks/pre-commit", "ask"],
  ["COMMIT_EDITMSG", "COMMIT_EDITMSG", "ask"],
  // It reads these.
  ["MERGE_MSG", "../.env", "deny"],
  ["SQUASH_MSG", "../.env", "deny"],
  ["rebase-merge/message", "../../.env", "deny"],
  ["packed-refs", "../secrets/.git/packed-refs", "deny"],
  ["refs/remotes", "../../secrets/.git/refs", "deny"],
  ["objects/ab", "../../secrets/.git/objects/ab", "deny"],
  ["objects/pack/pack-1.pack", "../../../secrets/.git/pack", "deny"],
  ["worktrees/one/HEAD", "../../../secrets/.git/HEAD", "deny"],
];

test("git is judged by where the links in its own folder lead", async () => {
  const gate = await createRepository();
  const check = testing(gate);
  for (const [name, target, effect] of LINKS) {
    const path = join(gate.root, ".git", name);
    expect((await check("git commit -m x")).effect).toBe("allow");
    link(path, target);
    for (const command of ["git commit -m x", "cd src && git add ."]) {
      const decision = await check(command);
      expect([name, decision.effect]).toEqual([name, effect]);
      expect(decision.reason).toContain(path);
    }
    rmSync(path);
  }
});

/** A list of folders with objects, and the effect of git's commands. */
const LISTS: [list: string, effect: "allow" | "ask" | "deny"][] = [
  ["../../secrets/.git/objects\n", "deny"],
  ["# mine\n/var/empty\n../../secrets/.git/objects\n", "deny"],
  ['"../../secrets/.git/objects"\n', "ask"],
  ["../../src\n", "deny"],
  ["/var/empty\n", "allow"],
];

test("git is judged by the places from which it takes objects", async () => {
  const gate = await createRepository();
  // One list leads to another.
  gate.write("src/info/alternates", "../secrets/.git/objects\n");
  for (const [list, effect] of LISTS) {
    gate.write(".git/objects/info/alternates", list);
    const decision = await testing(gate)("git cat-file -p HEAD");
    expect([list, decision.effect]).toEqual([list, effect]);
  }
});

test("a repository in the project is looked at too", async () => {
  const gate = await createRepository();
  mkdirSync(join(gate.root, "src/inner"));
  git(join(gate.root, "src/inner"), "init", "-q");
  link(join(gate.root, "src/inner/.git/COMMIT_EDITMSG"), OUTSIDE);
  for (
    const command of [
      "git -C src/inner commit -m x",
      "git --git-dir=src/inner/.git log",
      "cd src/inner && git status",
    ]
  ) expect([command, (await testing(gate)(command)).effect]).toEqual([command, "ask"]);
  expect((await testing(gate)("git commit -m x")).effect).toBe("allow");
});

test("links that git or a person makes change nothing", async () => {
  const gate = await createRepository();
  const folder = join(gate.root, ".git");
  link(join(folder, "HEAD"), "refs/heads/main");
  link(join(folder, "hooks/pre-commit"), OUTSIDE);
  link(join(folder, "info/exclude"), OUTSIDE);
  link(join(gate.root, "src/link"), OUTSIDE);
  expect((await testing(gate)("git commit -m x")).effect).toBe("allow");
});

test("a folder of git with too many folders asks", async () => {
  const gate = await createRepository();
  for (let at = 0; at < 2_000; at++) {
    mkdirSync(join(gate.root, `.git/refs/x/${at}`), { recursive: true });
  }
  expect(await testing(gate)("git commit -m x")).toMatchObject({
    effect: "ask",
    reason: expect.stringContaining("gate cannot tell where the links in git's own folder lead"),
  });
});
