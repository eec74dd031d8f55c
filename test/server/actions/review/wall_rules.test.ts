import { expect, test } from "vitest";
import { isOpenIn, withWalls } from "../../../../server/actions/review/wall_rules.ts";

test("walls are added to the lists of the sandbox, which keep everything else", () => {
  const known = { mode: "always" as const, hosts: ["a.test"] };
  const walls = [
    { kind: "host" as const, host: "b.test" },
    { kind: "host" as const, host: "a.test" },
    { kind: "writable" as const, path: "~/data" },
  ];
  expect(withWalls(known, walls)).toEqual({
    sandbox: { mode: "always", hosts: ["a.test", "b.test"], writable: ["~/data"] },
  });
  expect(withWalls(undefined, walls.slice(0, 1))).toEqual({ sandbox: { hosts: ["b.test"] } });
});

test("no rule opens a hidden file", () => {
  const file = { kind: "readable" as const, path: "~/.toolrc" };
  expect(withWalls({}, [{ kind: "host", host: "a.test" }, file])).toBe(null);
  expect(isOpenIn({ hosts: [], writable: ["~/.toolrc"] }, file)).toBe(false);
});

test("a wall is open if its list names it", () => {
  const sandbox = { hosts: ["a.test"], writable: ["~/data"] };
  expect(isOpenIn(sandbox, { kind: "host", host: "a.test" })).toBe(true);
  expect(isOpenIn(sandbox, { kind: "host", host: "~/data" })).toBe(false);
  expect(isOpenIn(sandbox, { kind: "writable", path: "~/data" })).toBe(true);
});
