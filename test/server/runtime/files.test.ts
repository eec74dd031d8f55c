import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { spawn } from "node:child_process";
import process from "node:process";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { readImage } from "../../../server/runtime/file_image.ts";
import {
  applyChange,
  dropStaged,
  type FileChange,
  removeTemporary,
  showChange,
  stageChange,
  type Staged,
  stageUnnamed,
} from "../../../server/runtime/files.ts";
import { canNameFiles } from "../../../server/runtime/unnamed_file.ts";
import { openSystemCalls } from "../../../server/runtime/system_calls.ts";
import { missingFolders, removeEmptyFolders } from "../../../server/runtime/folder.ts";
import { createTempFolder } from "../../temp_folder.ts";

let base = "";
beforeEach(() => void (base = createTempFolder("files")));

const bytes = (text: string) => new TextEncoder().encode(text);
const sha = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");
const change = (name: string, before: string | null, after: string | null): FileChange => ({
  path: join(base, name),
  before: before === null ? null : sha(before),
  after: after === null ? null : { content: bytes(after), mode: null },
  temporary: ".gate-0123456789abcdef",
});
const contentOf = (name: string) => readFileSync(join(base, name), "utf8");

test("a new file is made with its folders, which are named", async () => {
  const { made_folders } = await applyChange(change("a/b/c.txt", null, "new"));
  expect(contentOf("a/b/c.txt")).toBe("new");
  expect(made_folders).toEqual([join(base, "a"), join(base, "a/b")]);
  expect(readdirSync(join(base, "a/b"))).toEqual(["c.txt"]);
  expect(lstatSync(join(base, "a/b/c.txt")).mode & 0o777).toBe(0o666 & ~process.umask());
});

test("an unreadable file is reported with the reason in words", async () => {
  await expect(readImage(join(base, "x".repeat(300)), 10)).rejects.toThrow(
    /: the name is too long$/,
  );
});

test.each([0o644, 0o755, 0o600, 0o444])("an old file keeps its mode %o", async (mode) => {
  writeFileSync(join(base, "f"), "old");
  chmodSync(join(base, "f"), mode);
  await applyChange(change("f", "old", "new"));
  expect(contentOf("f")).toBe("new");
  expect(lstatSync(join(base, "f")).mode & 0o7777).toBe(mode);
});

test("bits that run a file as another user are not kept", async () => {
  writeFileSync(join(base, "f"), "old");
  chmodSync(join(base, "f"), 0o4755);
  await applyChange(change("f", "old", "new"));
  expect(lstatSync(join(base, "f")).mode & 0o7777).toBe(0o755);
});

test("a change upon another base is refused and nothing is touched", async () => {
  writeFileSync(join(base, "f"), "by hand");
  await expect(applyChange(change("f", "old", "new"))).rejects.toMatchObject({
    code: "conflict",
    fields: { expected_sha256: sha("old"), now_sha256: sha("by hand") },
  });
  await expect(applyChange(change("f", null, "new"))).rejects.toMatchObject({ code: "conflict" });
  await expect(applyChange(change("f", "old", null))).rejects.toMatchObject({ code: "conflict" });
  await expect(applyChange(change("x/y/f", "old", "new"))).rejects.toMatchObject({
    code: "conflict",
  });
  expect(contentOf("f")).toBe("by hand");
  expect(readdirSync(base)).toEqual(["f"]);
});

test("a deletion removes the file alone", async () => {
  await applyChange(change("a/f", null, "x"));
  await applyChange(change("a/f", "x", null));
  expect(readdirSync(join(base, "a"))).toEqual([]);
});

test.runIf(process.platform === "linux").each([
  ["replaced", "new"],
  ["removed", null],
])("the file that is %s is held until the disk has its folder, and no longer", async (_, after) => {
  writeFileSync(join(base, "f"), "old");
  const held: string[][] = [];
  await applyChange(change("f", "old", after), (step) => {
    if (step === "renamed" || step === "shown") held.push(deletedHere());
  });
  expect(held).toEqual([[join(base, "f")], [join(base, "f")]]);
  // A file is closed by a thread.
  await vi.waitFor(() => expect(openHere()).toEqual([]));
});

test.runIf(process.platform === "linux").each<[string, FileChange["after"], string | null]>([
  ["the base differs", { content: bytes("new"), mode: null }, "other"],
  ["a deletion has another base", null, "other"],
  ["the rename fails", { content: bytes("new"), mode: null }, null],
])("nothing stays open when %s", async (_, after, before) => {
  writeFileSync(join(base, "f"), "old");
  const fault = (step: string) => {
    if (step === "renamed") throw new Error("planned");
  };
  const failing = { ...change("f", before ?? "old", "new"), after };
  await expect(applyChange(failing, fault)).rejects.toThrow();
  await vi.waitFor(() => expect(openHere()).toEqual([]));
});

/** What this process has open below the folder, and of that what was removed from it. */
function openHere(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${base}/`) || path === base ? [path] : [];
    } catch {
      return []; // the descriptor of the listing itself
    }
  });
}

function deletedHere(): string[] {
  const mark = " (deleted)";
  return openHere().filter((path) => path.endsWith(mark)).map((path) =>
    path.slice(0, -mark.length)
  );
}

test("a hard link is replaced, not written through", async () => {
  writeFileSync(join(base, "victim"), "SENTINEL");
  linkSync(join(base, "victim"), join(base, "f"));
  await applyChange(change("f", "SENTINEL", "new"));
  expect(contentOf("victim")).toBe("SENTINEL");
});

test.each(["link", "dir/link"])("a link at %s is never followed", async (name) => {
  mkdirSync(join(base, "dir"));
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/victim"), "SENTINEL");
  symlinkSync(join(base, "outside/victim"), join(base, "link"));
  symlinkSync(join(base, "outside"), join(base, "dir/link"));
  const below = name === "link" ? name : `${name}/victim`;
  await expect(applyChange(change(below, "SENTINEL", "new"))).rejects.toMatchObject({
    code: "conflict",
  });
  await expect(readImage(join(base, below), 10)).rejects.toMatchObject({ code: "conflict" });
  expect(contentOf("outside/victim")).toBe("SENTINEL");
});

test("folders and pipes are refused at once", async () => {
  mkdirSync(join(base, "dir"));
  await run("mkfifo", join(base, "pipe"));
  for (const name of ["dir", "pipe"]) {
    await expect(applyChange(change(name, null, "x"))).rejects.toMatchObject({ code: "invalid" });
    await expect(readImage(join(base, name), 10)).rejects.toMatchObject({ code: "invalid" });
  }
  await expect(readImage(join(base, "dir/x/y"), 10)).resolves.toBeNull();
  expect(readdirSync(base).sort()).toEqual(["dir", "pipe"]);
});

test("a step that fails before the rename leaves neither temporary file nor folders", async () => {
  const fail = (step: string) => {
    expect(step).toBe("temporary");
    expect(existsSync(join(base, "a/.gate-0123456789abcdef"))).toBe(true);
    throw new Error("no");
  };
  await expect(applyChange(change("a/f", null, "x"), fail)).rejects.toThrow("no");
  expect(readdirSync(base)).toEqual([]);
});

/** A file without a name needs Linux, and system calls, which Node cannot make. */
const hasUnnamed = await openSystemCalls() !== null;
// The first call prepares them.
await vi.waitFor(() => expect(canNameFiles()).toBe(hasUnnamed));

type Stage = (one: FileChange) => Promise<Staged>;
const named: Stage = (one) => stageChange(one, one.after!);
const unnamed: Stage = (one) => {
  const staged = stageUnnamed(one, one.after!);
  if (staged === null) throw new Error("this file system has no files without a name");
  return staged;
};

describe.each<[kind: string, stage: Stage]>([
  ["in a temporary file", named],
  ...(hasUnnamed ? [["without a name", unnamed] as [string, Stage]] : []),
])("a file that is staged %s", (_kind, stage) => {
  test("is seen only when it is shown", async () => {
    writeFileSync(join(base, "f"), "old");
    const one = change("f", "old", "new");
    const staged = await stage(one);
    expect(contentOf("f")).toBe("old");
    if (stage === named) expect(contentOf(one.temporary)).toBe("new");
    else expect(readdirSync(base)).toEqual(["f"]);
    const { made_folders, settled } = await showChange(one, () => {}, staged);
    await settled;
    expect(made_folders).toEqual([]);
    expect(contentOf("f")).toBe("new");
    expect(readdirSync(base)).toEqual(["f"]);
  });

  test("gets the mode that the old one has when it is shown", async () => {
    writeFileSync(join(base, "f"), "old");
    const one = change("f", "old", "new");
    const staged = await stage(one);
    chmodSync(join(base, "f"), 0o600);
    await (await showChange(one, () => {}, staged)).settled;
    expect(contentOf("f")).toBe("new");
    expect(lstatSync(join(base, "f")).mode & 0o777).toBe(0o600);
    expect(readdirSync(base)).toEqual(["f"]);
  });

  test.each([0o644, 0o755, 0o600])("keeps the mode %o of the old one", async (mode) => {
    writeFileSync(join(base, "f"), "old");
    chmodSync(join(base, "f"), mode);
    const one = change("f", "old", "new");
    await (await showChange(one, () => {}, await stage(one))).settled;
    expect(lstatSync(join(base, "f")).mode & 0o777).toBe(mode);
  });

  test("is removed when it is dropped, and when the old one has changed", async () => {
    writeFileSync(join(base, "f"), "old");
    const one = change("f", "old", "new");
    dropStaged(await stage(one), one.temporary);
    expect(readdirSync(base)).toEqual(["f"]);
    const staged = await stage(one);
    writeFileSync(join(base, "f"), "by hand");
    await expect(showChange(one, () => {}, staged)).rejects.toMatchObject({ code: "conflict" });
    expect(contentOf("f")).toBe("by hand");
    expect(readdirSync(base)).toEqual(["f"]);
  });

  test("leaves no file open", async () => {
    const open = () => process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
    const one = change("f", null, "new");
    const before = open();
    for (let n = 0; n < 20; n++) {
      dropStaged(await stage(one), one.temporary);
      const other = change("f", n === 0 ? null : "new", "new");
      await (await showChange(other, () => {}, await stage(other))).settled;
    }
    await vi.waitFor(() => expect(open()).toBeLessThan(before + 10));
  });
});

test.skipIf(!hasUnnamed)(
  "a staged file without a name leaves alone what has the name of its temporary file",
  async () => {
    const one = change("f", null, "new");
    const staged = await unnamed(one);
    writeFileSync(join(base, one.temporary), "another's");
    await expect(showChange(one, () => {}, staged)).rejects.toMatchObject({ code: "EEXIST" });
    expect(readdirSync(base)).toEqual([one.temporary]);
    expect(contentOf(one.temporary)).toBe("another's");
  },
);

test.skipIf(!hasUnnamed)("no file without a name is staged in a missing folder", () => {
  const one = change("a/f", null, "new");
  expect(() => stageUnnamed(one, one.after!)).toThrow("the folder does not exist");
});

test("nothing is staged in a missing folder, nor where a temporary file cannot be", async () => {
  const one = change("a/f", null, "new");
  await expect(stageChange(one, one.after!)).rejects.toMatchObject({ code: "not_found" });
  writeFileSync(join(base, one.temporary), "another's");
  const other = change("f", null, "new");
  await expect(stageChange(other, other.after!)).rejects.toMatchObject({ code: "EEXIST" });
  await expect(applyChange(other)).rejects.toMatchObject({ code: "EEXIST" });
  expect(readdirSync(base)).toEqual([one.temporary]);
  expect(contentOf(one.temporary)).toBe("another's");
});

test("the image of a file has hash, size, mode and content up to the limit", async () => {
  const content = Uint8Array.from({ length: 3_000_000 }, (_, at) => at % 251);
  writeFileSync(join(base, "big"), content);
  chmodSync(join(base, "big"), 0o640);
  const expected = { sha256: sha(content), bytes: content.length, mode: 0o640 };
  expect(await readImage(join(base, "big"), 10)).toEqual({ ...expected, content: null });
  const image = await readImage(join(base, "big"), content.length);
  expect(sha(image!.content!)).toBe(expected.sha256);
  expect(await readImage(join(base, "none"), 10)).toBeNull();
});

test("only empty folders are removed, innermost first", () => {
  mkdirSync(join(base, "a/b/c"), { recursive: true });
  writeFileSync(join(base, "a/mine"), "");
  removeEmptyFolders([join(base, "a"), join(base, "a/b"), join(base, "a/b/c")]);
  expect(readdirSync(join(base, "a"))).toEqual(["mine"]);
  expect(missingFolders(join(base, "a/b/c"))).toEqual([join(base, "a/b"), join(base, "a/b/c")]);
});

test("a temporary file that was left behind is removed", () => {
  writeFileSync(join(base, ".gate-x"), "");
  removeTemporary(join(base, "f"), ".gate-x");
  removeTemporary(join(base, "gone/f"), ".gate-x");
  expect(readdirSync(base)).toEqual([]);
});

test("2,000 writes into a folder that is being swapped for a link: none escapes", async () => {
  mkdirSync(join(base, "race"));
  mkdirSync(join(base, "outside"));
  // A group of its own: what the shell has just started must end with it.
  const swapper = spawn("/bin/sh", ["-c", SWAP], { cwd: base, stdio: "ignore", detached: true });
  const ended = new Promise<void>((resolve) => swapper.once("exit", () => resolve()));
  const end = () => process.kill(-swapper.pid!, "SIGKILL");
  onTestFinished(() => {
    if (swapper.exitCode === null && swapper.signalCode === null) end();
  });
  for (let n = 0; n < 2000; n++) {
    const one = { ...change("race/x.txt", null, `${n}`), temporary: `.gate-${n}` };
    await applyChange(one).catch(() => {});
    // Looked at first: what is removed below may be removed through the link.
    expect(readdirSync(join(base, "outside"))).toEqual([]);
    for (const folder of ["race", "race.real"]) removeQuietly(join(base, folder, "x.txt"));
  }
  end();
  await ended;
  rmSync(join(base, "race"), { recursive: true, force: true });
  await applyChange({ ...change("race/x.txt", null, "calm"), temporary: ".gate-calm" });
  expect(contentOf("race/x.txt")).toBe("calm");
});

test(
  "2,000 writes to a file that is being swapped for a link: the victim keeps its bytes",
  async () => {
    mkdirSync(join(base, "race"));
    writeFileSync(join(base, "victim"), "SENTINEL");
    writeFileSync(join(base, "race/f"), "old");
    symlinkSync("../victim", join(base, "race/link"));
    let stop = false;
    const swapping = (async () => {
      while (!stop) {
        renameQuietly(join(base, "race/f"), join(base, "race/file"));
        renameQuietly(join(base, "race/link"), join(base, "race/f"));
        await new Promise((resolve) => setImmediate(resolve));
        renameQuietly(join(base, "race/f"), join(base, "race/link"));
        renameQuietly(join(base, "race/file"), join(base, "race/f"));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    let last = "old";
    for (let n = 0; n < 2000; n++) {
      const one = { ...change("race/f", last, `${n}`), temporary: `.gate-${n}` };
      await applyChange(one).then(() => last = `${n}`, () => {});
    }
    stop = true;
    await swapping;
    expect(contentOf("victim")).toBe("SENTINEL");
  },
  120_000,
);

// -T: a folder that a write has made meanwhile must not swallow what is moved or linked over it.
const SWAP = "while :; do mv -T race race.real; ln -sT outside race; rm race; " +
  "mv -T race.real race; done";

function run(program: string, ...args: string[]): Promise<void> {
  return new Promise((resolve) => spawn(program, args).on("close", () => resolve()));
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Not there at this moment.
  }
}

function renameQuietly(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch {
    // Not there at this moment.
  }
}
