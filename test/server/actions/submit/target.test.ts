import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { resolveTarget, shownPath } from "../../../../server/actions/submit/target.ts";
import { resolvePath } from "../../../../server/runtime/real_path.ts";

const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-target-")));
afterAll(() => rmSync(base, { recursive: true, force: true }));
const root = join(base, "root");
mkdirSync(join(root, "src/deep"), { recursive: true });
mkdirSync(join(base, "outside"));
writeFileSync(join(root, "src/a.ts"), "");
symlinkSync("src", join(root, "link"));
symlinkSync("src/deep", join(root, "deep"));
symlinkSync(join(base, "outside"), join(root, "out"));
symlinkSync("src/new.ts", join(root, "dangling"));
symlinkSync("loop", join(root, "loop"));
symlinkSync("root", join(base, "alias"));

describe("a path resolves to exactly one file", () => {
  test.each([
    ["src/a.ts", "src/a.ts", "root/src/a.ts"],
    ["./src//a.ts", "src/a.ts", "root/src/a.ts"],
    ["src/deep/../a.ts", "src/a.ts", "root/src/a.ts"],
    ["none/../src/a.ts", "src/a.ts", "root/src/a.ts"],
    ["link/a.ts", "link/a.ts", "root/src/a.ts"],
    ["dangling", "dangling", "root/src/new.ts"],
    ["out/x", "out/x", "outside/x"],
    ["../outside/x", `${base}/outside/x`, "outside/x"],
    [`${root}/src/a.ts`, "src/a.ts", "root/src/a.ts"],
    [`${base}/alias/src/a.ts`, "src/a.ts", "root/src/a.ts"],
    [`${base}/alias/link/new.ts`, "link/new.ts", "root/src/new.ts"],
    [`${base}/root-evil/x`, `${base}/root-evil/x`, "root-evil/x"],
    ["src/a.ts/below", "src/a.ts/below", "root/src/a.ts/below"],
  ])("%s is shown as %s and is %s", (path, shown, real) => {
    const target = resolveTarget(path, root);
    expect(target).toMatchObject({ shown, real: join(base, real) });
    expect(shownPath(target.lexical, root)).toBe(shown);
  });

  test("a file of no project is shown by its whole path, also from the root of the disk", () => {
    expect(resolveTarget("etc/none", "/")).toMatchObject({ shown: "/etc/none", real: "/etc/none" });
  });
});

describe("an ordinary name is accepted", () => {
  test.each([
    "$types.ts",
    "routes/$id.tsx",
    "routes/$postId/edit.tsx",
    "~backup.txt",
    "a~",
    "file~1.txt",
    "..foo/bar",
    "...",
    "a..b",
    "[id].tsx",
    "(group)/page.tsx",
    "@scope/pkg.json",
    "naïve café.txt",
    "файл.txt",
    "отчёт-v2.md",
    "日本語/ファイル.md",
    "emoji😀.md",
    "c:d.txt",
    "http:/x",
    "%2e%2e/x",
    "x".repeat(255),
  ])("%s", (path) => {
    expect(resolveTarget(path, root).real).toBe(join(root, path));
  });
});

describe("an ambiguous path is refused", () => {
  test.each([
    ["", /empty/],
    ["   ", /empty/],
    ["a/ /b", /blank/],
    ["README.md ", /ends in a blank/],
    ["src /a.ts", /ends in a blank/],
    ["REA\u216eME.md", /look like others/],
    ["\u{1d411}EADME.md", /look like others/],
    [".", /folder/],
    ["..", /folder/],
    ["src/", /folder/],
    ["src/..", /folder/],
    ["a\0b", /control/],
    ["a\nb", /control/],
    ["a\u0085b", /control/],
    ["a\u2028b", /control/],
    ["a\u202eb", /invisible/],
    ["a\u200bb", /invisible/],
    ["a\u00adb", /invisible/],
    ["a\u{e0041}b", /invisible/],
    ["\ufeffa", /invisible/],
    ["a\ud800", /well-formed/],
    [".\u0435nv", /look like/],
    ["\u017fecrets", /look like/],
    ["p\u03bfint.ts", /look like/],
    ["a\\b", /backslash/],
    ["..\\x", /backslash/],
    ["https://x/y", /URL/],
    ["FILE://localhost/etc/passwd", /URL/],
    ["~", /~ is not expanded/],
    ["~/x", /~ is not expanded/],
    ["~root/x", /~ is not expanded/],
    ["$HOME/x", /variables/],
    ["${HOME}/x", /variables/],
    ["x".repeat(256), /255 bytes/],
    ["é".repeat(128), /255 bytes/],
    ["a/".repeat(2048) + "a", /4095 bytes/],
    ["loop/x", /form a loop or number more than 40; use the real path/],
    ["deep/../a.ts", /after a link/],
  ])("%j", (path, why) => {
    expect(() => resolveTarget(path, root)).toThrow(why);
    expect(() => resolveTarget(path, root)).toThrow(
      expect.objectContaining({ code: "invalid" }),
    );
  });
});

test("resolvePath() follows 40 links, as the kernel does, and refuses 41", () => {
  for (let n = 0; n < 41; n++) {
    symlinkSync(n === 40 ? "src" : `chain${n + 1}`, join(root, `chain${n}`));
  }
  expect(resolvePath(join(root, "chain1/a.ts")).real).toBe(join(root, "src/a.ts"));
  expect(() => resolvePath(join(root, "chain0/a.ts"))).toThrow(/number more than 40/);
});
