import { expect, test } from "vitest";
import { widenedBy } from "../../../../server/actions/review/widening.ts";

const NONE = { commands: [], reads: [], writes: [], deletes: [], unresolved: [] };
const of = (program: string, effects: Partial<typeof NONE> | Record<string, string[]> = {}) => ({
  ...NONE,
  commands: [[program, "x"]],
  ...effects,
});

test.each([
  [
    "has the same effects",
    of("rm", { deletes: ["/p/build"] }),
    of("rm", { deletes: ["/p/build"] }),
  ],
  ["deletes fewer files", of("rm", { deletes: ["/p/a", "/p/b"] }), of("rm", { deletes: ["/p/a"] })],
  [
    "deletes a folder inside the approved one",
    of("rm", { deletes: ["/p/build"] }),
    of("rm", { deletes: ["/p/build/tmp"] }),
  ],
  [
    "writes a file instead of deleting it",
    of("rm", { deletes: ["/p/a"] }),
    of("rm", { writes: ["/p/a"] }),
  ],
  [
    "reads a file instead of writing it",
    of("cat", { writes: ["/p/a"] }),
    of("cat", { reads: ["/p/a"] }),
  ],
  [
    "deletes a file inside an approved relative path",
    of("rm", { deletes: ["a"] }),
    of("rm", { deletes: ["/p/a/b"] }),
  ],
  ["runs a harmless program", of("npm"), of("echo")],
  ["runs the same program by its name instead of its path", of("/usr/bin/git"), of("git")],
  [
    "has the same unresolved part",
    of("sh", { unresolved: ["$x"] }),
    of("sh", { unresolved: ["$x"] }),
  ],
])("widenedBy() accepts an edit that %s", (_name, before, after) => {
  expect(widenedBy(before, after, "/p")).toBeNull();
});

test.each([
  ["runs git", of("npm"), of("git")],
  ['deletes "/p/src"', of("rm", { deletes: ["/p/build"] }), of("rm", { deletes: ["/p/src"] })],
  [
    'deletes "/p/build2"',
    of("rm", { deletes: ["/p/build"] }),
    of("rm", { deletes: ["/p/build2"] }),
  ],
  ['deletes "/p"', of("rm", { deletes: ["/p/build"] }), of("rm", { deletes: ["/p"] })],
  ['deletes "/p/a"', of("rm", { writes: ["/p/a"] }), of("rm", { deletes: ["/p/a"] })],
  ['writes "/p/b"', of("tee", { writes: ["/p/a"] }), of("tee", { writes: ["/p/a", "/p/b"] })],
  ['writes "/p/a"', of("cat", { reads: ["/p/a"] }), of("cat", { writes: ["/p/a"] })],
  ['reads "/etc/x"', of("cat", { reads: ["/p/a"] }), of("cat", { reads: ["/etc/x"] })],
  ['"$x"', of("rm"), of("rm", { unresolved: ["$x"] })],
])("widenedBy() names the wider effect: %s", (what, before, after) => {
  expect(widenedBy(before, after, "/p")).toContain(what);
});
