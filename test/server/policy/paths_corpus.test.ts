import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { linkSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { compilePolicy, type Surroundings } from "../../../server/policy/evaluate.ts";
import { testPolicy } from "../../../server/policy/test_policy.ts";
import { resolvePath } from "../../../server/runtime/real_path.ts";

interface Case {
  id: string;
  category: string;
  fixture: "tree" | "globs";
  setup?: string[][];
  blocked?: string[];
  path: unknown;
  expect: string;
  strength: string;
  platform: string;
  reason: string;
}

const corpus = JSON.parse(
  readFileSync(new URL("../../corpora/paths.json", import.meta.url), "utf8"),
) as {
  policy: { defaultEffect: "allow"; blockedPaths: string[] };
  fixtures: Record<string, (string | number)[][]>;
  cases: Case[];
};

const made: string[] = [];
afterAll(() => made.forEach((base) => rmSync(base, { recursive: true, force: true })));

const PLATFORMS = new Set(["any", "posix", "posix_nonroot", "linux"]);
/** The reasons for which only the disk refuses: folders, special files, permissions. */
const DISK = new Set([
  "wrong_type",
  "types",
  "directory",
  "special",
  "fifo",
  "readonly",
  "hardlink",
]);

describe("paths.json", () => {
  const cases = corpus.cases.filter((one) =>
    typeof one.path === "string" && one.path !== "" && PLATFORMS.has(one.platform) &&
    one.strength === "required" && one.expect !== "no_escape" && one.expect !== "deny_or_error" &&
    !DISK.has(one.category) && !one.reason.endsWith("a directory")
  );
  test.each(cases)("$id $category: $reason", (one) => {
    const { around, fill } = build(one);
    const blockedPaths = one.blocked ?? corpus.policy.blockedPaths;
    const policy = compilePolicy({
      global: null,
      project: { defaultEffect: "allow", blockedPaths },
      override_global: false,
    });
    const path = fill(one.path as string);
    const { effect, reason } = testPolicy(policy, { path, action: "write" }, around, () => 0);
    if (one.expect === "allow") expect({ effect, reason }).toMatchObject({ effect: "allow" });
    else if (one.expect !== "allow_or_hold") expect(effect).not.toBe("allow");
    if (one.expect === "deny") expect(effect).toBe("deny");
  });
});

function build(one: Case): { around: Surroundings; fill: (text: string) => string } {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-paths-")));
  made.push(base);
  const root = join(base, "proj");
  const home = join(base, "home");
  const fill = (text: string) =>
    text.replaceAll("{BASE}", base).replaceAll("{ROOT}", root).replaceAll("{HOME}", home);
  mkdirSync(root, { recursive: true });
  mkdirSync(home);
  for (const step of [...corpus.fixtures[one.fixture]!, ...(one.setup ?? [])]) {
    run(step.map((part) => typeof part === "string" ? fill(part) : String(part)));
  }
  const gate_home = join(home, ".gate");
  return {
    around: { roots: [root], user_home: home, gate_home, port: 47000, resolve: resolvePath },
    fill,
  };
}

function run([verb, first, second, third]: string[]): void {
  if (verb === "mkdir") mkdirSync(first!, { recursive: true });
  else if (verb === "write") writeText(first!, second!);
  else if (verb === "rm") rmSync(first!);
  else if (verb === "symlink") symlinkSync(first!, second!);
  else if (verb === "hardlink") linkSync(first!, second!);
  else if (verb === "symlink_chain") {
    const count = Number(second);
    for (let at = 0; at < count; at++) {
      symlinkSync(at + 1 < count ? `${first}${at + 1}` : "src", join(third!, `${first}${at}`));
    }
  }
}

function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
