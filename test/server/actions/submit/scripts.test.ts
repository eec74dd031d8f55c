import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { scriptsOf } from "../../../../server/actions/submit/scripts.ts";
import { compilePolicy, evaluate } from "../../../../server/policy/evaluate.ts";
import { resolvePath } from "../../../../server/runtime/real_path.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "gate-scripts-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
for (
  const name of ["a.sh", "sub/b.sh", "a.js", "Makefile", "sub/Makefile", "package.json", "data.txt"]
) {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), name);
}
symlinkSync("a.sh", join(root, "link.sh"));

const policy = compilePolicy({
  global: null,
  project: { defaultEffect: "ask" },
  override_global: false,
});
const around = {
  roots: [root],
  user_home: "/nowhere",
  gate_home: "/nowhere/.gate",
  port: 47000,
  resolve: resolvePath,
};

test.each<[string, string[]]>([
  ["sh a.sh", ["a.sh"]],
  ["./a.sh --now", ["a.sh"]],
  ["bash link.sh", ["a.sh"]],
  ["cd sub && sh b.sh", ["sub/b.sh"]],
  ["bash -c 'sh a.sh'", ["a.sh"]],
  ["node a.js < data.txt", ["a.js"]],
  ["source ./a.sh; . sub/b.sh", ["a.sh", "sub/b.sh"]],
  ["make all", ["Makefile"]],
  ["make -C sub", ["Makefile", "sub/Makefile"]],
  ["npm test", ["package.json"]],
  ["cat data.txt | sort", []],
  ["sh none.sh", []],
  ["sh sub", []],
])("an approval of %j is bound to %j", async (command, expected) => {
  const { analysis } = evaluate(policy, { kind: "command", command, cwd: root }, around);
  const scripts = await scriptsOf(analysis, { command, cwd: root });
  expect(scripts.map(({ path }) => path.slice(root.length + 1))).toEqual(expected);
});

const words = (count: number) => Array.from({ length: count }, (_, n) => `w${n}`).join(" ");

test.each([
  ["behind words that name no file", `node a.js ${words(70)}; sh sub/b.sh`],
  ["in the last of many folders", `${"cd w; cd ..; ".repeat(12)}cd sub; sh b.sh`],
  ["in a folder after others", "cd w1; cd w2; cd w3; cd ../../..; cd sub; sh b.sh"],
  ["after a subshell in another folder", "(cd w1; ls); cd sub; sh b.sh"],
  ["behind more programs than gate analyses", `${"true; ".repeat(300)}sh sub/b.sh`],
  ["before more words than gate analyses", `sh sub/b.sh ${words(2_000)}`],
])("an approval is bound to a script %s", async (_, command) => {
  const { analysis } = evaluate(policy, { kind: "command", command, cwd: root }, around);
  const scripts = await scriptsOf(analysis, { command, cwd: root });
  expect(scripts.map(({ path }) => path.slice(root.length + 1))).toContain("sub/b.sh");
});

test("a command with more words and folders than gate looks up is refused", async () => {
  const folders = words(40).replaceAll(/(\w+) ?/g, "cd $1; ");
  const command = `${folders}node a.js ${words(900)}`;
  const { analysis } = evaluate(policy, { kind: "command", command, cwd: root }, around);
  await expect(scriptsOf(analysis, { command, cwd: root })).rejects.toThrow(
    /split it into several commands/,
  );
});
