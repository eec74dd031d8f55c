import { expect, test } from "vitest";
import { widenedBy } from "../../../../server/actions/decide/widening.ts";

const NONE = { commands: [], reads: [], writes: [], deletes: [], unresolved: [] };
const of = (program: string, effects: Partial<typeof NONE> | Record<string, string[]> = {}) => ({
  ...NONE,
  commands: [[program, "x"]],
  ...effects,
});

test.each([
  ["the same", of("rm", { deletes: ["/p/build"] }), of("rm", { deletes: ["/p/build"] })],
  ["less", of("rm", { deletes: ["/p/a", "/p/b"] }), of("rm", { deletes: ["/p/a"] })],
  ["a part of it", of("rm", { deletes: ["/p/build"] }), of("rm", { deletes: ["/p/build/tmp"] })],
  [
    "a write instead of a deletion",
    of("rm", { deletes: ["/p/a"] }),
    of("rm", { writes: ["/p/a"] }),
  ],
  ["a read of what was written", of("cat", { writes: ["/p/a"] }), of("cat", { reads: ["/p/a"] })],
  ["the same by a relative path", of("rm", { deletes: ["a"] }), of("rm", { deletes: ["/p/a/b"] })],
  ["a harmless program", of("npm"), of("echo")],
  ["the same program by its path", of("/usr/bin/git"), of("git")],
  [
    "what could not be told before",
    of("sh", { unresolved: ["$x"] }),
    of("sh", { unresolved: ["$x"] }),
  ],
])("an edit is fine that does %s", (_name, before, after) => {
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
])("an edit is refused that also %s", (what, before, after) => {
  expect(widenedBy(before, after, "/p")).toContain(what);
});
