import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDiff } from "../../../ui/diff/diff_model.ts";
import { findChanges } from "../../../server/shown/line_diff.ts";
import { LARGE_PAIRS } from "./large_pairs.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

function countsOf(a: readonly string[], b: readonly string[]) {
  const { changes } = findChanges(a, b);
  return {
    added: changes.reduce((sum, { fromB, toB }) => sum + toB - fromB, 0),
    removed: changes.reduce((sum, { fromA, toA }) => sum + toA - fromA, 0),
  };
}

/** The length of a longest common subsequence, by the textbook's table. */
function commonLength(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const item of a) {
    const next = [0];
    for (const [at, other] of b.entries()) {
      next.push(item === other ? row[at]! + 1 : Math.max(row[at + 1]!, next[at]!));
    }
    row = next;
  }
  return row[b.length]!;
}

const items = fc.array(fc.constantFrom("a", "b", "c", "d", "", "}"), { maxLength: 90 });

describe("findChanges()", () => {
  test("leads from one list to the other with the fewest changes", () => {
    fc.assert(
      fc.property(items, items, (a, b) => {
        const { changes, isRough } = findChanges(a, b);
        let rest = 0;
        const result: string[] = [];
        for (const { fromA, toA, fromB, toB } of changes) {
          expect(fromA).toBeGreaterThanOrEqual(rest);
          expect(toA - fromA + toB - fromB).toBeGreaterThan(0);
          result.push(...a.slice(rest, fromA), ...b.slice(fromB, toB));
          rest = toA;
        }
        expect([...result, ...a.slice(rest)]).toEqual(b);
        const common = commonLength(a, b);
        expect(countsOf(a, b)).toEqual({ added: b.length - common, removed: a.length - common });
        expect(isRough).toBe(false);
      }),
      { numRuns: 3_000 },
    );
  });

  test("puts an added function below the one before it", () => {
    const before = ["one() {", "}", "", "end"];
    const after = ["one() {", "}", "", "two() {", "}", "", "end"];
    expect(findChanges(before, after).changes).toEqual([{ fromA: 3, toA: 3, fromB: 3, toB: 6 }]);
  });

  test("a file of 5,300 lines with every second one changed counts half of them", () => {
    const before = Array.from({ length: 5_300 }, (_, at) => `line ${at}`);
    const after = before.map((line, at) => at % 2 === 0 ? line : `${line} changed`);
    expect(countsOf(before, after)).toEqual({ added: 2_650, removed: 2_650 });
  });

  test.each(LARGE_PAIRS)("10,000 lines, %s, are compared whole", (_, before, after) => {
    const { facts } = createDiff(before.join("\n"), after.join("\n"));
    expect(facts.join()).not.toContain("too long");
  });

  test("what is too long to compare is bounded, whole and said", () => {
    const [a, b] = ["ab", "cb"].map((letters) =>
      Array.from({ length: 200_000 }, (_, at) => letters[(at * at + at) % 7 % 2]!)
    ) as [string[], string[]];
    const model = createDiff(`x\n${a.join("\n")}\n`, `y\n${b.join("\n")}\n`);
    expect(model.added).toBe(200_001);
    expect(model.facts[0]).toContain("too long to compare whole");
  });

  test("a long file is split at lines that occur once", () => {
    const before = Array.from({ length: 60_000 }, (_, at) => `line ${at}`);
    const after = before.map((line, at) => at % 100 === 0 ? `${line} x` : line);
    expect(findChanges(before, after).isRough).toBe(false);
    expect(countsOf(before, after)).toEqual({ added: 600, removed: 600 });
  });
});

const PAIRS = 50;

/** The output of git; a comparison of files that differ ends with the exit code 1. */
function git(...args: string[]): string {
  const run = spawnSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 2 ** 28 });
  return run.stdout;
}

function numstat(files: readonly string[]): [added: number, removed: number] {
  const [added, removed] = git("diff", "--no-index", "--numstat", ...files).split("\t");
  return [Number(added), Number(removed)];
}

/** The most changed file of each commit, before and after. */
function* pairsOf(commits: readonly string[]): Generator<[name: string, texts: string[]]> {
  for (const commit of commits) {
    const [biggest] = git("diff", "--numstat", "--diff-filter=M", `${commit}~1`, commit)
      .split("\n").map((row) => row.split("\t"))
      .filter(([added, , path]) => added !== "-" && path !== undefined && !path.includes("=>"))
      .sort((x, y) => Number(y[0]) + Number(y[1]) - Number(x[0]) - Number(x[1]));
    if (!biggest) continue;
    const texts = [`${commit}~1`, commit].map((at) => git("show", `${at}:${biggest[2]}`));
    yield [`${commit.slice(0, 8)} ${biggest[2]}`, texts];
  }
}

// A source archive and a shallow clone have no history.
const commits = existsSync(join(ROOT, ".git"))
  ? git("log", "--no-merges", "--diff-filter=M", "--format=%H", "-100").split("\n").filter(Boolean)
  : [];

test.skipIf(commits.length < PAIRS)(
  "the counts of 50 pairs of this repository's history are git's",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "gate-diff-"));
    const files = ["before", "after"].map((name) => join(folder, name));
    let pairs = 0;
    let equal = 0;
    for (const [name, texts] of pairsOf(commits)) {
      if (pairs++ === PAIRS) break;
      files.forEach((file, side) => writeFileSync(file, texts[side]!));
      const { added, removed } = createDiff(texts[0]!, texts[1]!);
      // Before git compares, it leaves out lines that occur very often, so its diff can be longer.
      const theirs = numstat(files);
      expect(theirs[0] - added, name).toBe(theirs[1] - removed);
      expect(theirs[0], name).toBeGreaterThanOrEqual(added);
      if (theirs[0] === added) equal++;
    }
    rmSync(folder, { recursive: true });
    expect(pairs).toBeGreaterThan(PAIRS);
    expect(equal).toBeGreaterThanOrEqual(45);
  },
);
