import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { breaches, LAYERS } from "./architecture/layers.ts";
import { PLANTED } from "./architecture/planted.ts";
import { RULES } from "./architecture/rules.ts";
import { readSource, type Source } from "./architecture/source.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TOP_LEVEL = [
  ".ci",
  ".github",
  ".gitignore",
  ".npmrc",
  "LICENSE",
  "README.md",
  "cli",
  "deno.json",
  "deno.lock",
  "dist",
  "mod.ts",
  "package.json",
  "server",
  "test",
  "ui",
];

const CHECKS: Record<string, (sources: readonly Source[]) => string[]> = {
  ...Object.fromEntries(
    Object.entries(LAYERS).map((
      [name, layer],
    ) => [name, (s: readonly Source[]) => breaches(layer, s)]),
  ),
  ...RULES,
};

const paths = listFiles();
const sources = paths.filter((path) => /\.tsx?$/.test(path))
  .map((path) => readSource(path, readFileSync(`${ROOT}/${path}`, "utf8")));

describe("the repository", () => {
  test.each(Object.keys(CHECKS))("keeps the rule: %s", (name) => {
    expect(CHECKS[name]!(sources)).toEqual([]);
  });

  test("has at its top exactly what belongs there", () => {
    expect([...new Set(paths.map((path) => path.split("/")[0]))].sort()).toEqual(TOP_LEVEL);
  });
});

// Wanted by the compiler, and by its typed twin: no line names them.
const NEVER_IMPORTED = ["@types/node", "@types/nodemailer", "@types/smtp-server", "commander"];

test("package.json names each package that is imported, and no other", () => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(`${ROOT}/package.json`, "utf8"),
  ) as Record<string, Record<string, string>>;
  const named = Object.keys({ ...dependencies, ...devDependencies });
  const imported = sources.flatMap(({ imports }) =>
    imports.filter(({ specifier }) => !/^(\.|node:|[a-z]+:\/\/)/.test(specifier))
      .map(({ specifier }) => specifier.match(/^(@[^/]+\/)?[^/]+/)![0])
  );
  const isUsed = (name: string) =>
    NEVER_IMPORTED.includes(name) || sources.some(({ text }) => text.includes(`"${name}`));
  expect(imported.filter((name) => !named.includes(name))).toEqual([]);
  expect(named.filter((name) => !isUsed(name))).toEqual([]);
});

describe("each rule finds what breaks it", () => {
  test.each(PLANTED.map((planted) => [planted.rule, planted.breach, planted] as const))(
    "%s: %s",
    (rule, breach, { files }) => {
      const planted = Object.entries(files).map(([path, text]) => readSource(path, text));
      expect(CHECKS[rule]!(planted)).toEqual([breach]);
    },
  );

  test("and none is without such a proof", () => {
    const proved = new Set(PLANTED.map(({ rule }) => rule));
    expect(Object.keys(CHECKS).filter((name) => !proved.has(name))).toEqual([]);
  });
});

describe("the documents", () => {
  const documents = paths.filter((path) => path === "README.md" || /^\.github\/.*\.md$/.test(path));

  test.each(documents)("%s names only files that exist", (document) => {
    const text = readFileSync(`${ROOT}/${document}`, "utf8");
    const named = [...text.matchAll(/`((?:server|cli|ui|test|dist)\/[\w./-]+)`/g)].map(([, path]) =>
      path!.replace(/\/$/, "")
    );
    const isThere = (path: string) =>
      paths.some((known) => known === path || known.startsWith(`${path}/`)) ||
      /^dist\/(bin|ui|node)\b/.test(path);
    expect(named.filter((path) => !isThere(path))).toEqual([]);
  });
});

// What git knows or would add: generated and ignored files do not count.
function listFiles(): string[] {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: ROOT });
  return listed.toString().split("\n").filter((path) => path !== "");
}
