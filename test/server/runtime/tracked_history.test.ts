import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { openRepositories } from "../../../server/runtime/tracked_files.ts";
import { historyOf } from "../../../server/runtime/tracked_history.ts";

afterEach(() => void vi.unstubAllEnvs());

const SETTINGS = ["user.name=x", "user.email=x@example.com", "init.defaultBranch=main"];

function git(cwd: string, ...args: string[]): string {
  const options = SETTINGS.flatMap((setting) => ["-c", setting]);
  return execFileSync("git", [...options, ...args], { cwd, encoding: "utf8", stdio: "pipe" });
}

function createRepository(...files: string[]): string {
  const root = mkdtempSync(join(tmpdir(), "gate-history-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  git(root, "init", "-q");
  if (files.length > 0) commit(root, ...files);
  return root;
}

function commit(root: string, ...files: string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), file);
    git(root, "add", "-f", file);
  }
  git(root, "commit", "-qm", "x");
}

/** The names once git has listed them. */
async function namesIn(root: string): Promise<string[]> {
  const history = historyOf(join(root, ".git"));
  await history.running;
  expect(history.state).toBe("known");
  return history.names.toSorted();
}

test("lists the names of every commit, each once", async () => {
  const root = createRepository("a", 'deep/er/\u00e4 \n" x', "gone");
  git(root, "rm", "-q", "gone");
  git(root, "commit", "-qm", "x");
  git(root, "checkout", "-qb", "other");
  commit(root, "there");
  git(root, "checkout", "-q", "main");
  commit(root, "here", "a2");
  git(root, "merge", "-q", "--no-commit", "other");
  writeFileSync(join(root, "only-in-the-merge"), "x");
  git(root, "add", "only-in-the-merge");
  git(root, "commit", "-qm", "merge");
  git(root, "branch", "-qD", "other");
  writeFileSync(join(root, "untracked"), "x");
  git(root, "stash", "-qu");
  expect(await namesIn(root)).toEqual(
    ["a", "a2", 'deep/er/\u00e4 \n" x', "gone", "here", "only-in-the-merge", "there", "untracked"],
  );
});

test("a new repository has no names", async () => {
  const root = createRepository();
  expect(await namesIn(root)).toEqual([]);
  commit(root, "a");
  expect(await namesIn(root)).toEqual(["a"]);
});

test("reads only what is new, and the names until then stay", async () => {
  const root = createRepository("a");
  await namesIn(root);
  const { names } = historyOf(join(root, ".git"));
  expect(historyOf(join(root, ".git")).running).toBeNull();
  commit(root, "b");
  expect(await namesIn(root)).toEqual(["a", "b"]);
  expect(historyOf(join(root, ".git")).names).toBe(names);
  git(root, "branch", "folder/one");
  await namesIn(root);
  const tree = git(root, "rev-parse", "HEAD^{tree}").trim();
  const made = execFileSync("git", ["mktree"], {
    cwd: root,
    input: `040000 tree ${tree}\tc\n`,
    encoding: "utf8",
  }).trim();
  const id = git(root, "commit-tree", "-m", "x", made).trim();
  git(root, "update-ref", "refs/heads/folder/one", id);
  expect(await namesIn(root)).toEqual(["a", "b", "c/a", "c/b"]);
  git(root, "update-ref", "-d", "refs/heads/main");
  expect(await namesIn(root)).toEqual(["a", "b", "c/a", "c/b"]);
});

test("while git lists new commits, the names are not known", async () => {
  const root = createRepository("a");
  await namesIn(root);
  commit(root, "b");
  const history = historyOf(join(root, ".git"));
  expect(history.state).toBe("reading");
  await history.running;
  expect(history.state).toBe("known");
});

/** Commits a tree that git itself would not make, with files of these names. */
function commitNames(root: string, names: readonly string[]): void {
  const blob = execFileSync("git", ["hash-object", "-w", "--stdin"], { cwd: root, input: "x" });
  const id = Buffer.from(blob.toString().trim(), "hex");
  const input = Buffer.concat(names.flatMap((name) => [Buffer.from(`100644 ${name}\0`), id]));
  const write = ["hash-object", "-t", "tree", "-w", "--stdin", "--literally"];
  const tree = execFileSync("git", write, { cwd: root, input, encoding: "utf8" }).trim();
  git(root, "update-ref", "refs/heads/long", git(root, "commit-tree", "-m", "x", tree).trim());
}

test.each([
  ["one name that is longer than a path", ["a".repeat(3_000_000)]],
  [
    "long names that would fill the memory",
    Array.from({ length: 17_000 }, (_, at) => `${at}`.padStart(6, "0") + "a".repeat(4_000)),
  ],
])("%s: the history is unknown", async (_, names) => {
  const root = createRepository("a");
  commitNames(root, names);
  const history = historyOf(join(root, ".git"));
  await history.running;
  expect(history.state).toBe("unknown");
});

test("a linked folder shares the history", async () => {
  const root = createRepository("a");
  const linked = `${root}-linked`;
  onTestFinished(() => rmSync(linked, { recursive: true, force: true }));
  git(root, "worktree", "add", "-q", linked);
  commit(linked, "b");
  const look = openRepositories();
  const history = look.repository(linked)!.history();
  await look.settle();
  expect(history).toBe(historyOf(join(root, ".git")));
  expect(await namesIn(root)).toEqual(["a", "b"]);
});

test("no setting of the repository starts a program", async () => {
  const root = createRepository("a");
  const touch = `touch ${join(root, "STARTED")}`;
  for (const key of ["core.fsmonitor", "core.pager", "diff.external", "alias.rev-list"]) {
    git(root, "config", key, key.startsWith("alias") ? `!${touch}` : touch);
  }
  git(root, "config", "diff.x.textconv", touch);
  git(root, "config", "log.showSignature", "true");
  git(root, "config", "gpg.program", touch);
  writeFileSync(join(root, ".git/info/attributes"), "* diff=x\n");
  expect(await namesIn(root)).toEqual(["a"]);
  expect(() => execFileSync("ls", [join(root, "STARTED")], { stdio: "pipe" })).toThrow();
});

test("a damaged repository has an unknown history until it is whole again", async () => {
  const root = createRepository("a");
  const objects = join(root, ".git/objects");
  renameSync(objects, `${objects}-away`);
  const history = historyOf(join(root, ".git"));
  await history.running;
  expect(history.state).toBe("unknown");
  expect(historyOf(join(root, ".git")).running).toBeNull();
  renameSync(`${objects}-away`, objects);
  commit(root, "b");
  expect(await namesIn(root)).toEqual(["a", "b"]);
});

test("git is that of the machine, whatever PATH names first", async () => {
  const root = createRepository("a");
  const planted = mkdtempSync(join(tmpdir(), "gate-planted-"));
  onTestFinished(() => rmSync(planted, { recursive: true, force: true }));
  writeFileSync(join(planted, "git"), `#!/bin/sh\ntouch ${planted}/started\nexit 1\n`, {
    mode: 0o755,
  });
  vi.stubEnv("PATH", `${planted}:${process.env["PATH"]}`);
  expect(await namesIn(root)).toEqual(["a"]);
  expect(existsSync(join(planted, "started"))).toBe(false);
});
