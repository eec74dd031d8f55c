import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
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

/** The output of git. */
function git(args: string[], input = ""): Buffer {
  return spawnSync("git", args, { cwd: ROOT, input, maxBuffer: 2 ** 28 }).stdout;
}

interface Changed {
  commit: string;
  path: string;
  added: number;
  removed: number;
}

/** The most changed file of each of the newest commits. */
function mostChanged(): Changed[] {
  const log = git(["log", "--no-merges", "--no-renames", "--numstat", "--diff-filter=M"].concat(
    ["--format=%x00%H", "-100"],
  )).toString();
  return log.split("\0").slice(1).flatMap((text) => {
    const [commit, ...rows] = text.split("\n").filter(Boolean);
    const files = rows.map((row) => row.split("\t")).filter(([added]) => added !== "-")
      .map(([added, removed, path]): Changed => (
        { commit: commit!, path: path!, added: Number(added), removed: Number(removed) }
      ));
    return files.sort((a, b) => b.added + b.removed - a.added - a.removed).slice(0, 1);
  });
}

/** The texts of these objects, read by one process. */
function textsOf(names: readonly string[]): string[] {
  const output = git(["cat-file", "--batch"], names.map((name) => `${name}\n`).join(""));
  let from = 0;
  return names.map(() => {
    const end = output.indexOf("\n", from);
    const size = Number(output.toString("utf8", from, end).split(" ")[2]);
    from = end + 1 + size + 1;
    return output.toString("utf8", end + 1, end + 1 + size);
  });
}

// A source archive and a shallow clone have no history.
const changed = existsSync(join(ROOT, ".git")) ? mostChanged().slice(0, PAIRS) : [];

test.skipIf(changed.length < PAIRS)(
  "the counts of 50 pairs of this repository's history are git's",
  () => {
    const texts = textsOf(
      changed.flatMap(({ commit, path }) => [`${commit}~1:${path}`, `${commit}:${path}`]),
    );
    let equal = 0;
    for (const [n, { commit, path, ...theirs }] of changed.entries()) {
      const name = `${commit.slice(0, 8)} ${path}`;
      const { added, removed } = createDiff(texts[2 * n]!, texts[2 * n + 1]!);
      // Before git compares, it leaves out lines that occur very often, so its diff can be longer.
      expect(theirs.added - added, name).toBe(theirs.removed - removed);
      expect(theirs.added, name).toBeGreaterThanOrEqual(added);
      if (theirs.added === added) equal++;
    }
    expect(equal).toBeGreaterThanOrEqual(45);
  },
);
