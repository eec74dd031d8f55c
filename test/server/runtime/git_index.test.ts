import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseIndex } from "../../../server/runtime/git_index.ts";
import { openRepositories } from "../../../server/runtime/tracked_files.ts";

const at = (folder: string) => openRepositories().repository(folder);

const LONG = `long/${"n".repeat(200)}/${"m".repeat(240)}`;
const FILES = ["a", "a.b", "a/../ä ö", "deep/er/x.ts", "deep/er/x.tsx", LONG, "z"]
  .map((name) => name.replace("a/../", ""));

function git(cwd: string, ...args: string[]): string {
  const settings = ["user.name=x", "user.email=x@example.com", "protocol.file.allow=always"];
  const options = settings.flatMap((setting) => ["-c", setting]);
  return execFileSync("git", [...options, ...args], { cwd, encoding: "utf8", stdio: "pipe" });
}

/** A repository with these files in its index. */
function createRepository(files: readonly string[], ...options: string[]): string {
  const root = mkdtempSync(join(tmpdir(), "gate-index-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  git(root, "init", "-q", ...options);
  for (const file of files) write(root, file);
  git(root, "add", ".");
  return root;
}

function write(root: string, file: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), `${file}\n`);
}

function listed(root: string): string[] {
  return git(root, "ls-files", "-z").split("\0").filter(Boolean).sort();
}

/** A way to make an index, and the version that git then writes. */
const FORMS: [form: string, version: number, make: (root: string) => void, options: string[]][] = [
  ["plain", 2, () => {}, []],
  ["with a file that is only intended", 3, (root) => {
    write(root, "intended");
    git(root, "add", "-N", "intended");
  }, []],
  ["with shortened names", 4, (root) => git(root, "update-index", "--index-version", "4"), []],
  ["with shortened names and a flag", 4, (root) => {
    git(root, "update-index", "--index-version", "4");
    git(root, "update-index", "--skip-worktree", "a");
  }, []],
  ["with more extensions", 2, (root) => {
    git(root, "commit", "-qm", "x");
    git(root, "update-index", "--untracked-cache");
    git(root, "-c", "index.threads=4", "-c", "feature.manyFiles=false", "status");
  }, []],
  ["with SHA-256", 2, () => {}, ["--object-format=sha256"]],
  ["with SHA-256 and shortened names", 4, (root) => {
    git(root, "update-index", "--index-version", "4");
  }, ["--object-format=sha256"]],
];

test.each(FORMS)("reads an index %s (version %i)", (_, version, make, options) => {
  const root = createRepository(FILES, ...options);
  make(root);
  const bytes = readFileSync(join(root, ".git/index"));
  expect(bytes.readUInt32BE(4)).toBe(version);
  expect(parseIndex(bytes)?.files.toSorted()).toEqual(listed(root));
  expect(at(root)?.files?.toSorted()).toEqual(listed(root));
});

/** An index of version 4 whose entries each repeat the long first name, but for six digits. */
function repeatingIndex(entries: number, length: number): Uint8Array {
  const stat = Buffer.alloc(40);
  stat.writeUInt32BE(0o100644, 24);
  const flags = Buffer.alloc(2);
  flags.writeUInt16BE(Math.min(length + 6, 0xfff));
  const parts: Uint8Array[] = [Buffer.from("DIRC"), Buffer.from([0, 0, 0, 4]), Buffer.alloc(4)];
  new DataView(parts[2]!.buffer, parts[2]!.byteOffset).setUint32(0, entries);
  for (let number = 0; number < entries; number++) {
    const dropped = Buffer.from([number === 0 ? 0 : 6]);
    const name = (number === 0 ? "a".repeat(length) : "") + `${number}`.padStart(6, "0") + "\0";
    parts.push(stat, Buffer.alloc(20), flags, dropped, Buffer.from(name));
  }
  return Buffer.concat([...parts, Buffer.alloc(20)]);
}

test.each([
  ["is read", 3, 4_000, 3],
  ["is not read when a name is longer than a path", 1, 5_000, undefined],
  ["is not read when its names would fill the memory", 20_000, 4_000, undefined],
])("a small index with long names %s", (_, entries, length, read) => {
  const bytes = repeatingIndex(entries, length);
  expect(bytes.length).toBeLessThan(2 * 1024 * 1024);
  expect(parseIndex(bytes)?.files.length).toBe(read);
});

test("a pipe in the place of the index does not hold the daemon", () => {
  const root = createRepository(["a"]);
  rmSync(join(root, ".git/index"));
  execFileSync("mkfifo", [join(root, ".git/index")]);
  expect(at(root)?.files).toBeNull();
});

test("reads the names of a conflict once", () => {
  const root = createRepository(["a", "b"]);
  git(root, "commit", "-qm", "x");
  git(root, "checkout", "-qb", "other");
  writeFileSync(join(root, "a"), "other");
  git(root, "commit", "-qam", "y");
  git(root, "checkout", "-q", "-");
  writeFileSync(join(root, "a"), "mine");
  git(root, "commit", "-qam", "z");
  expect(() => git(root, "merge", "other")).toThrow();
  expect(parseIndex(readFileSync(join(root, ".git/index")))?.files).toEqual(["a", "b"]);
});

test("reads a split index together with the one that it shares", () => {
  const root = createRepository(FILES);
  git(root, "update-index", "--split-index");
  write(root, "later");
  git(root, "add", "later");
  const own = parseIndex(readFileSync(join(root, ".git/index")))!;
  expect(own.shared).toMatch(/^sharedindex\.[0-9a-f]{40}$/);
  expect(own.files.length).toBeLessThan(FILES.length);
  expect(at(root)?.files?.toSorted()).toEqual(listed(root));
  rmSync(join(root, ".git", own.shared!));
  expect(at(root)?.files).toBeNull();
});

test("names the folders of a sparse index", () => {
  const root = createRepository(FILES);
  git(root, "commit", "-qm", "x");
  git(root, "sparse-checkout", "init", "--cone", "--sparse-index");
  git(root, "sparse-checkout", "set", "deep");
  const found = at(root)!;
  expect(found.folders).toEqual(["long"]);
  expect(found.files).toContain("deep/er/x.ts");
  expect(found.files).not.toContain(LONG);
});

test("finds the index of a linked folder and of a submodule", () => {
  const inner = createRepository(["in"]);
  git(inner, "commit", "-qm", "x");
  const root = createRepository(["a", "folder/b"]);
  git(root, "submodule", "--quiet", "add", inner, "sub");
  git(root, "commit", "-qm", "x");
  const linked = `${root}-linked`;
  onTestFinished(() => rmSync(linked, { recursive: true, force: true }));
  git(root, "worktree", "add", "-q", linked);
  write(linked, "only-here");
  git(linked, "add", "only-here");
  expect(at(join(root, "folder"))).toMatchObject({ root, modules: ["sub"] });
  expect(at(join(root, "sub"))).toMatchObject({ root: `${root}/sub`, files: ["in"] });
  expect(at(linked)).toMatchObject({ root: linked });
  expect(at(linked)?.files).toContain("only-here");
  expect(at(root)?.files).not.toContain("only-here");
  expect(at(join(root, ".git"))).toMatchObject({ root, modules: ["sub"] });
});

test("a missing index is an empty one", () => {
  const root = createRepository(["a"]);
  git(root, "commit", "-qm", "x");
  const bare = `${root}-bare`;
  onTestFinished(() => rmSync(bare, { recursive: true, force: true }));
  git(root, "clone", "-q", "--bare", root, bare);
  expect(at(bare)).toMatchObject({ root: bare, files: [] });
  rmSync(join(root, ".git/index"));
  expect(at(root)?.files).toEqual([]);
  expect(at(createRepository([]))?.files).toEqual([]);
  expect(at(tmpdir())).toBeNull();
});

test("reads an index again after a change, and keeps the names if they are the same", () => {
  const root = createRepository(["a", "b"]);
  const before = at(root)!.files;
  git(root, "update-index", "--chmod=+x", "a");
  expect(at(root)!.files).toBe(before);
  write(root, "c");
  git(root, "add", "c");
  expect(at(root)!.files).toEqual(["a", "b", "c"]);
  const index = join(root, ".git/index");
  writeFileSync(index, "DIRC");
  utimesSync(index, 0, 0);
  expect(at(root)!.files).toBeNull();
});

test("every cut and every wrong length of an index is refused", () => {
  const root = createRepository(["a", "deep/er/x.ts"]);
  const bytes = readFileSync(join(root, ".git/index"));
  for (let end = 0; end < bytes.length; end++) {
    expect([end, parseIndex(bytes.subarray(0, end))]).toEqual([end, null]);
  }
  for (const [at, value] of [[7, 1], [7, 5], [11, 1], [11, 3], [11, 255], [73, 9]] as const) {
    const wrong = Uint8Array.from(bytes);
    wrong[at] = value;
    expect([at, value, parseIndex(wrong)]).toEqual([at, value, null]);
  }
});
