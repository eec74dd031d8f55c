import { execFileSync, spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Action } from "../../../server/actions/schema.ts";
import { compilePolicy, evaluate, type Surroundings } from "../../../server/policy/evaluate.ts";
import { createTestGate, type TestGate } from "../../helpers.ts";
import { AROUND } from "./score.ts";

const SECRET = "s3cret-value";

const FILES = {
  "README.md": "TOP\n",
  "src/a.ts": "TOP a\n",
  "src/deep/b.ts": "TOP b\n",
  "secrets/key": `TOP ${SECRET}\n`,
  "api/.env": `TOP=${SECRET}\n`,
  "keys/tls.key": `TOP ${SECRET}\n`,
  ".gitignore": ".env\n!api/.env\n",
};

const POLICIES = {
  defaultEffect: "allow" as const,
  blockedPaths: [".env", "secrets/**"],
  askPaths: ["*.key"],
};

const GIT = [
  ...["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"],
  ...["-c", "commit.gpgsign=false"],
];

function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", [...GIT, ...args], { cwd, encoding: "utf8", stdio: "pipe" });
}

/** A gate with a project whose files are committed in two commits. */
async function createRepository(files: Record<string, string> = FILES): Promise<TestGate> {
  const gate = await createTestGate({ policies: POLICIES, files });
  git(gate.root, "init", "-q");
  git(gate.root, "add", "-f", ".");
  git(gate.root, "commit", "-qm", "first");
  gate.write("src/a.ts", "TOP a2\n");
  git(gate.root, "commit", "-qam", "second");
  return gate;
}

const ALL = "':(exclude)api/.env' ':(exclude)keys/tls.key' ':(exclude)secrets'";

/** The command and its effect. */
const CASES: [command: string, effect: "allow" | "ask" | "deny"][] = [
  ["git log", "allow"],
  ["git log --oneline -5", "allow"],
  ["git log --stat -3 --format=%h", "allow"],
  ["git log --name-only --all", "allow"],
  ["git log -p", "deny"],
  ["git log -p -1", "deny"],
  ["git log -U0", "deny"],
  ["git log --patch-with-stat", "deny"],
  ["git log -pS TOP", "deny"],
  ["git log --pat", "deny"],
  ["git log -c", "deny"],
  ["git log --remerge-diff", "deny"],
  ["git log --no-patch -p", "deny"],
  ["git log -L1,1:secrets/key", "deny"],
  ["git log -Ltest:secrets/key", "deny"],
  ["git log --all -p -- src", "allow"],
  ["git log -p -- src/a.ts README.md", "allow"],
  ["git log -p -- 'src/*'", "allow"],
  ["git log -p -- src/*", "allow"],
  ["git log -p -- 's*'", "deny"],
  ["git log -p -- s*", "deny"],
  ["git log -p src", "deny"],
  ["git log -p -- src/../secrets", "deny"],
  ["git log -p -- secrets/key", "deny"],
  ["git log -p -- keys", "ask"],
  ["git log -p -- :/", "deny"],
  ["git log -p -- ':(icase)SECRETS'", "deny"],
  ["git log -p -- ':(glob)**/k*'", "deny"],
  ["git log -p --full-diff -- src", "deny"],
  ["git log -p --follow -- src/a.ts", "deny"],
  ["git log -p -S -- src", "deny"],
  ["git --literal-pathspecs log -p -- src", "deny"],
  [`GIT_LITERAL_PATHSPECS=1 git log -p -- . ${ALL}`, "ask"],
  [`git --literal-pathspecs log -p -- . ${ALL}`, "deny"],
  [`git log -p -- . ${ALL}`, "allow"],
  [`git log -p ${ALL}`, "deny"],
  [`git log -p -- ${ALL}`, "allow"],
  [`git log -p -- . ${ALL.replaceAll("exclude", "top,exclude")}`, "allow"],
  [`git log -p -- . ${ALL.replace("(exclude)secrets", "!secrets")}`, "allow"],
  [`git log -p -- . ${ALL.replace(/ \S*secrets'/, "")}`, "deny"],
  [`git log -p -- . ${ALL.replaceAll(":(exclude)", ":!")}`, "allow"],
  [`git log -p -- . ${ALL.replaceAll(":(exclude)", ":^/")}`, "allow"],
  [`git log -p -- . ${ALL.replace("secrets", "secre?s")}`, "deny"],
  [`cd src && git log -p -- . ${ALL}`, "allow"],
  [`cd src && git log -p -- .. ${ALL}`, "deny"],
  [`cd src && git log -p -- :/ ${ALL.replaceAll("exclude", "top,exclude")}`, "allow"],
  [`git -C src log -p -- .`, "allow"],
  [`git -C src log -p -- ..`, "deny"],
  ["git -C secrets log -p -- key", "deny"],
  ["git -c log.follow=true log -p -- src", "deny"],
  ["git -c color.ui=always log -p -- src", "allow"],
  ["git show", "deny"],
  ["git show --stat", "allow"],
  ["git show --stat HEAD~1", "allow"],
  ["git show -s --format=%H HEAD^", "allow"],
  ["git show --name-only HEAD -- src", "allow"],
  ["git show HEAD -- src", "allow"],
  ["git show HEAD -- 's*'", "deny"],
  ["git show HEAD:src/a.ts", "allow"],
  ["git show HEAD:secrets/key", "deny"],
  ["git show HEAD:secrets", "deny"],
  ["git show HEAD:src", "allow"],
  ["git show :0:secrets/key", "deny"],
  ["git show :secrets/key", "deny"],
  ["git show @:secrets/key", "deny"],
  ["git show 'HEAD^{/first}:secrets/key'", "deny"],
  ["git show HEAD~1:gone/.env", "deny"],
  ["git show HEAD:src/../secrets/key", "deny"],
  ["cd secrets; git show HEAD:./key", "deny"],
  ["cd src; git show HEAD:../secrets/key", "deny"],
  ["cd src; git show HEAD:secrets/key", "deny"],
  ["cd src; git show HEAD:./a.ts", "allow"],
  ["git -C secrets show HEAD:./key", "deny"],
  ["git show :/first", "deny"],
  ["git show $(git rev-parse HEAD:secrets/key)", "deny"],
  ["git show --stat {blob}", "deny"],
  ["git show {blob} -- src", "deny"],
  ["git show --stat {sha}", "deny"],
  ["git show --stat {sha}~", "allow"],
  ["git show {sha}^{commit} -- src", "allow"],
  ["git show HEAD^{tree}", "deny"],
  ["git diff", "deny"],
  ["git diff --stat", "allow"],
  ["git diff --name-only HEAD~1", "allow"],
  ["git diff --stat -p", "deny"],
  ["git diff --check", "deny"],
  ["git diff --quiet", "allow"],
  ["git diff HEAD~1 HEAD", "deny"],
  ["git diff HEAD~1..HEAD -- src", "allow"],
  ["git diff main -- src", "allow"],
  ["git diff {blob} -- src/a.ts", "deny"],
  ["git diff {blob}..{blob} -- src", "deny"],
  ["git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD", "deny"],
  ["git diff HEAD:secrets/key HEAD:src/a.ts", "deny"],
  ["git diff HEAD:README.md HEAD:src/a.ts", "allow"],
  ["git diff HEAD:secrets HEAD:src -- key", "deny"],
  ["git diff HEAD:api HEAD:src", "deny"],
  ["git diff --no-prefix 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD -- ':/sec*'", "deny"],
  ["git diff --submodule=diff -- src", "allow"],
  ["git diff --no-index README.md src/a.ts", "allow"],
  ["git diff --no-index secrets src", "deny"],
  ["git diff --no-index . src", "ask"],
  ["git diff-tree HEAD", "allow"],
  ["git diff-tree -p HEAD", "deny"],
  ["git diff-tree -p HEAD -- src", "allow"],
  ["git diff-index --cached HEAD", "allow"],
  ["git diff-index -p HEAD", "deny"],
  ["git diff-files -p", "deny"],
  ["git difftool -y -x cat", "deny"],
  ["git whatchanged -p", "deny"],
  ["git reflog", "allow"],
  ["git reflog -p", "deny"],
  ["git reflog show -p", "deny"],
  ["git shortlog HEAD", "allow"],
  ["git rev-list --objects HEAD", "allow"],
  ["git ls-tree -r HEAD", "allow"],
  ["git blame src/a.ts", "allow"],
  ["git blame secrets/key", "deny"],
  ["git blame HEAD -- secret?/key", "ask"],
  ["git blame -S secrets/key src/a.ts", "deny"],
  ["git blame --contents secrets/key src/a.ts", "deny"],
  ["git blame --ignore-revs-file=secrets/key src/a.ts", "deny"],
  ["git annotate api/.env", "deny"],
  ["git cat-file -t {blob}", "allow"],
  ["git cat-file -p HEAD", "allow"],
  ["git cat-file -p HEAD^{tree}", "allow"],
  ["git cat-file -p {blob}", "deny"],
  ["git cat-file blob {blob}", "deny"],
  ["git cat-file commit {sha}", "allow"],
  ["git cat-file -p HEAD:secrets/key", "deny"],
  ["git cat-file -p HEAD:src/a.ts", "allow"],
  ["git cat-file blob HEAD:secrets/k'e'y", "deny"],
  ["git cat-file --textconv HEAD:secrets/key", "deny"],
  ["echo HEAD:secrets/key | git cat-file --batch", "ask"],
  ["git cat-file --batch-all-objects --batch", "ask"],
  ["git cat-file --batch-all-objects --batch-check", "allow"],
  ["git cat-file --batch-command < list", "ask"],
  ["git grep TOP", "deny"],
  ["git grep TOP HEAD", "deny"],
  ["git grep -l TOP", "allow"],
  ["git grep -n TOP -- src", "allow"],
  ["git grep TOP HEAD -- src", "allow"],
  ["git grep TOP HEAD:secrets", "deny"],
  ["git grep TOP src", "deny"],
  ["cd src && git grep TOP", "allow"],
  ["cd src && git grep TOP -- ..", "deny"],
  [`git grep TOP -- ${ALL}`, "allow"],
  ["git grep -e TOP --and -e s3 -- . ':!secrets'", "deny"],
  ["git grep --no-index TOP", "deny"],
  ["git grep --untracked TOP", "deny"],
  ["git stash list", "allow"],
  ["git stash list -p", "deny"],
  ["git stash show", "deny"],
  ["git stash show --stat", "allow"],
  ["git stash show -p", "deny"],
  ["git archive HEAD", "deny"],
  ["git archive HEAD src", "allow"],
  ["git archive HEAD:secrets", "deny"],
  [`git archive HEAD . ${ALL}`, "allow"],
  ["git format-patch --stdout HEAD~1", "deny"],
  ["git format-patch --stdout HEAD~1 -- src", "allow"],
  ["git range-diff HEAD~1 HEAD HEAD", "deny"],
  ["git fast-export HEAD", "deny"],
  ["git bundle create out.bundle HEAD", "deny"],
  ["git pack-objects out < list", "deny"],
  ["git unpack-file {blob}", "deny"],
  ["git checkout-index -a --prefix=src/", "deny"],
  ["git worktree add ../other", "deny"],
  ["git clone . copy", "deny"],
  ["git clone file://{root} copy", "deny"],
  ["git clone https://example.com/x.git copy", "allow"],
  ["git submodule foreach 'git log -p'", "deny"],
  ["git status", "allow"],
  ["git status -v", "deny"],
  ["git commit -m 'fix -v'", "allow"],
  ["git commit -vm x", "deny"],
  ["git add -p", "deny"],
  ["git add src", "allow"],
  ["git tag v1", "allow"],
  ["git tag v1 {blob}", "deny"],
  ["git for-each-ref", "allow"],
  ["git for-each-ref --format='%(raw)'", "deny"],
  ["git notes add -C {blob}", "deny"],
  ["git merge-tree HEAD HEAD~1", "deny"],
  ["git read-tree --prefix=x/ HEAD", "deny"],
  ["git replace {blob} {sha}", "deny"],
  ["git update-index --add --cacheinfo 100644,{blob},src/x", "deny"],
  ["git fsck --lost-found", "deny"],
  ["git --git-dir=.git log -p", "deny"],
  ["cd / && git --git-dir={root}/.git log -p", "deny"],
  ["cd $X && git log -p", "ask"],
  ["cd .git && git log -p", "deny"],
];

/** They print nothing by themselves, or change files. */
const SILENT = /\b(clone|worktree|commit|add|tag|stash|notes|archive)\b/;

test("a git command that shows tracked files is held for a forbidden file among them", async () => {
  const gate = await createRepository();
  const blob = git(gate.root, "rev-parse", "HEAD:secrets/key").trim();
  const commit = git(gate.root, "rev-parse", "HEAD~1").trim();
  const wrong: unknown[] = [];
  const printed: string[] = [];
  for (const [written, effect] of CASES) {
    const command = written.replaceAll("{blob}", blob).replaceAll("{sha}", commit)
      .replaceAll("{root}", gate.root);
    const body = { command, action: "command" };
    const answer = await gate.request("POST", "/api/policy/test", body, "agent");
    const decision = await answer.json();
    if (decision.effect !== effect) wrong.push([written, decision.effect, decision.reason]);
    if (decision.effect !== "allow" || SILENT.test(command)) continue;
    const { stdout } = spawnSync("bash", ["-c", command], { cwd: gate.root, input: "" });
    if (stdout.includes(SECRET)) printed.push(command);
  }
  expect(wrong).toEqual([]);
  expect(printed).toEqual([]);
});

/** The command, the folder in the project, and the command that the agent makes of the answer. */
const ADVISED: [command: string, folder: string, next: string][] = [
  ["git log -p", ".", `git log -p -- . ${ALL}`],
  ["git show", ".", `git show -- . ${ALL}`],
  ["git diff HEAD~1", ".", `git diff HEAD~1 -- . ${ALL}`],
  ["git log -p", "src", `git log -p -- :/ ${ALL.replaceAll("exclude", "exclude,top")}`],
  [
    "git log -p -- src keys api",
    ".",
    `git log -p -- src keys api ${ALL.replace(/ \S*secrets'/, "")}`,
  ],
  ["git grep TOP", ".", `git grep TOP -- . ${ALL}`],
  ["git archive HEAD", ".", `git archive HEAD . ${ALL}`],
  ["git format-patch --stdout HEAD~1", ".", `git format-patch --stdout HEAD~1 -- . ${ALL}`],
];

test.each(ADVISED)("the answer to %s in %s says what to add", async (command, folder, next) => {
  const gate = await createRepository();
  const submit = async (command: string) => {
    const cwd = join(gate.root, folder);
    const body = { tool: "run_command", input: { command, cwd } };
    const answer = await gate.request("POST", "/api/actions", body, "agent");
    return await answer.json() as Action;
  };
  const { status, decision } = await submit(command);
  expect([status, decision.effect]).toEqual(["blocked", "deny"]);
  expect(decision.reason).toMatch(/git tracks "[\w./]+" and may show it/);
  expect(decision.alternative).toMatch(/^Add /);
  const given = `${command} ${decision.alternative!.replace(/^Add /, "")}`;
  expect(given.split(" ").sort()).toEqual(next.split(" ").sort());
  expect((await submit(next)).decision.effect).toBe("allow");
  const { stdout, status: code } = spawnSync("bash", ["-c", next], {
    cwd: join(gate.root, folder),
    encoding: "utf8",
  });
  expect(code).toBe(0);
  expect(stdout).toContain("TOP");
  expect(stdout).not.toContain(SECRET);
});

test("an unclear command is told which word to leave out or to write in full", async () => {
  const gate = await createRepository();
  const adviceFor = async (command: string) => {
    const body = { command, action: "command" };
    const answer = await gate.request("POST", "/api/policy/test", body, "agent");
    return (await answer.json()).alternative;
  };
  expect(await adviceFor("git log -p --full-diff")).toBe(
    `Leave out "--full-diff", add -- . ${ALL}`,
  );
  expect(await adviceFor("git show 0123abc")).toBe(
    `Write 0123abc^{commit} for the commit 0123abc, add -- . ${ALL}`,
  );
  expect(await adviceFor("git log -p -- ':(icase)SRC'")).toBe(
    `Write a plain path for :(icase)SRC, add ${ALL}`,
  );
  expect(await adviceFor("git cat-file -p 0123abc")).toBe(
    "Name the file to show, as in git show HEAD:path",
  );
});

test("without a forbidden file among the tracked ones nothing changes", async () => {
  const { "README.md": readme, "src/a.ts": source } = FILES;
  const gate = await createRepository({ "README.md": readme!, "src/a.ts": source! });
  gate.write(".env", SECRET);
  const effectOf = async (command: string) => {
    const body = { command, action: "command" };
    return (await (await gate.request("POST", "/api/policy/test", body, "agent")).json()).effect;
  };
  for (const [command] of ADVISED) {
    expect([command, await effectOf(command)]).toEqual([command, "allow"]);
  }
  expect(await effectOf("git diff; git log -p | head; git show HEAD~1")).toBe("allow");
  expect(await effectOf("git cat-file --batch < list")).toBe("ask");
  // The next command sees what git tracks by then.
  git(gate.root, "add", "-f", ".env");
  expect(await effectOf("git diff --cached")).toBe("deny");
});

test("a repository whose names cannot be read counts as one with forbidden files", async () => {
  const gate = await createRepository({ "src/a.ts": "TOP\n" });
  const test = testing(gate);
  expect((await test("git log -p")).effect).toBe("allow");
  gate.write(".git/index", "DIRC");
  expect(await test("git log -p")).toMatchObject({
    effect: "ask",
    reason: expect.stringContaining("gate cannot tell which files git tracks"),
  });
  expect((await test("git log --stat")).effect).toBe("allow");
  rmSync(join(gate.root, ".git/index"));
  expect((await test("git log -p")).effect).toBe("allow");
  rmSync(join(gate.root, ".git"), { recursive: true });
  expect((await test("git log -p")).effect).toBe("allow");
  expect((await test("git init && git add . && git diff --cached")).effect).toBe("ask");
});

function testing(gate: TestGate) {
  return async (command: string) => {
    const body = { command, action: "command" };
    return await (await gate.request("POST", "/api/policy/test", body, "agent")).json();
  };
}

/** Ways in which git keeps a forbidden file that its index does not list. */
const GONE: [how: string, change: (gate: TestGate) => void][] = [
  ["that was deleted", ({ root }) => {
    git(root, "rm", "-qr", "secrets");
    git(root, "commit", "-qm", "gone");
  }],
  ["that another branch has", ({ root }) => {
    git(root, "branch", "other");
    git(root, "checkout", "-q", "--orphan", "fresh");
    git(root, "rm", "-qrf", "--cached", "secrets");
    git(root, "commit", "-qm", "fresh");
    git(root, "branch", "-qD", "main");
  }],
  ["that was only amended away", ({ root }) => {
    git(root, "update-ref", "-d", "HEAD");
    git(root, "rm", "-qr", "--cached", "secrets");
    git(root, "commit", "-qm", "all");
  }],
  ["of a deleted index", ({ root }) => rmSync(join(root, ".git/index"))],
  ["whose folder was renamed", ({ root }) => {
    git(root, "mv", "secrets", "public");
    git(root, "commit", "-qm", "renamed");
  }],
];

test.each(GONE)("git shows no forbidden file %s", async (_, change) => {
  const { "src/a.ts": source, "secrets/key": key } = FILES;
  const gate = await createRepository({ "src/a.ts": source!, "secrets/key": key! });
  change(gate);
  const test = testing(gate);
  expect(await test("git log -p --all --reflog")).toMatchObject({
    effect: "deny",
    reason: expect.stringContaining('earlier or other commits have "secrets", and git may show it'),
    alternative: "Add -- . ':(exclude)secrets'",
  });
  expect((await test("git show HEAD~1")).effect).toBe("deny");
  expect((await test("git show HEAD~1 -- . ':(exclude)secrets'")).effect).toBe("allow");
  // They show the index and the disk only.
  expect((await test("git diff")).effect).toBe("allow");
  expect((await test("git grep TOP -- src")).effect).toBe("allow");
});

test("an untracked file in a stash counts", async () => {
  const gate = await createRepository({ "src/a.ts": "TOP\n" });
  gate.write("secrets/key", SECRET);
  git(gate.root, "stash", "-qu");
  expect((await testing(gate)("git show stash@{0}^3")).effect).toBe("deny");
});

test("names of new commits count at once", async () => {
  const gate = await createRepository({ "src/a.ts": "TOP\n" });
  const test = testing(gate);
  expect((await test("git log -p")).effect).toBe("allow");
  const tree = git(gate.root, "rev-parse", "HEAD^{tree}").trim();
  const around = execFileSync("git", ["mktree"], {
    cwd: gate.root,
    input: `040000 tree ${tree}\tsecrets\n`,
    encoding: "utf8",
  }).trim();
  const commit = git(gate.root, "commit-tree", "-m", "x", around).trim();
  git(gate.root, "update-ref", "refs/heads/other", commit);
  expect((await test("git log -p")).effect).toBe("deny");
});

const NO_HISTORY = { names: [], state: "known" as const };

/** Names of files and folders under which rules and disks differ, in every place. */
const NAMES = (
  "a .env .ENV .env. .env.local .Env:x ．env x.pem X.PEM .pem secrets Secrets secret key id_rsa " +
  "tls.key .еnv deep"
).split(" ");
const PATTERNS = (
  ".env *.pem secrets/** **/secrets/** **/secrets deep/*/key ./key {.env,deep/secret} id_? /a " +
  "deep/** **/a/**/b [xX].* ~/x"
).split(" ");

test.each(PATTERNS)(
  "the rule %s forbids the same tracked files as files of the disk",
  (pattern) => {
    const policy = compilePolicy({
      global: null,
      project: { defaultEffect: "allow", blockedPaths: [pattern] },
      override_global: false,
    });
    const files = NAMES.flatMap((one) => [
      one,
      ...NAMES.map((two) => `${one}/${two}`),
      ...NAMES.flatMap((two) => [`deep/${one}/${two}`, `${one}/deep/key/${two}`]),
    ]);
    const root = "/home/user/project";
    const around: Surroundings = {
      ...AROUND,
      roots: [root],
      resolve: (path) => ({ lexical: path, real: path }),
      list: () => [],
      repository: () => ({ root, files, folders: [], modules: [], history: () => NO_HISTORY }),
    };
    const forbidden = files.filter((file) => {
      const path = { lexical: `${root}/${file}`, real: `${root}/${file}` };
      const request = { kind: "path" as const, access: "read" as const, path, is_plain_read: true };
      return evaluate(policy, request, around).decision.effect !== "allow";
    });
    const effectOf = (file: string) =>
      evaluate(policy, {
        kind: "command",
        command: `git log -p -- ':(literal)${file}'`,
        cwd: root,
      }, around).decision.effect;
    // A folder counts for what is below it; its own name may be forbidden as well.
    const isHeld = (file: string) =>
      forbidden.some((one) => one === file || one.startsWith(`${file}/`));
    const wrong = files.filter((file) => (effectOf(file) !== "allow") !== isHeld(file));
    expect(wrong).toEqual([]);
  },
);

/** The command, with an untracked key that no list of ignored files names. */
const ADDING: [command: string, effect: "allow" | "ask" | "deny"][] = [
  ["git add . && git diff --cached", "ask"],
  ["git add -A; git commit -qm x; git show", "ask"],
  ["git add -N docs && git diff", "ask"],
  ["git stage docs/k.pem && git diff --staged", "deny"],
  ["cd docs && git add . && git diff --cached", "ask"],
  ["git -C docs add . && git diff --cached", "ask"],
  ["git stash -u && git stash show -p --include-untracked", "ask"],
  ["git add -f src && git diff --cached", "ask"],
  ["git add src && git diff --cached", "allow"],
  ["git add -u && git diff --cached", "allow"],
  ["git add -p", "allow"],
  ["git add -n . && git diff --cached", "allow"],
  ["git add . && git status --short", "allow"],
  ["git add . && git diff --cached --stat", "allow"],
];

test("a text that adds files and shows them is held for a forbidden file that it may add", async () => {
  const blockedPaths = [".env", "*.pem"];
  const files = { "README.md": "TOP\n", "src/a.ts": "TOP\n", ".gitignore": ".env\n" };
  const gate = await createTestGate({ policies: { defaultEffect: "allow", blockedPaths }, files });
  git(gate.root, "init", "-q");
  git(gate.root, "add", ".");
  git(gate.root, "commit", "-qm", "first");
  gate.write("docs/k.pem", SECRET);
  gate.write("src/.env", SECRET);
  const wrong: unknown[] = [];
  for (const [command, effect] of ADDING) {
    const body = { command, action: "command" };
    const answer = await gate.request("POST", "/api/policy/test", body, "agent");
    const decision = await answer.json();
    if (decision.effect !== effect) wrong.push([command, decision.effect, decision.reason]);
    if (effect === "ask") {
      expect(decision.reason).toMatch(/may take in "[\w./]+", and git may show/);
    }
  }
  expect(wrong).toEqual([]);
});
