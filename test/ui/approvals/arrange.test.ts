import { expect, test } from "vitest";
import { arrange, keepPlaces } from "../../../ui/approvals/arrange.ts";

const item = (id: string, session_id: string, minute: number, score: number) => ({
  id,
  session_id,
  project_id: session_id === "one" ? "app" : "shop",
  created_at: `2026-01-01T00:0${minute}:00.000Z`,
  risk: { score, level: "low" as const, factors: [] },
});
const items = [
  item("c", "two", 2, 90),
  item("a", "one", 0, 10),
  item("d", "one", 3, 90),
  item("b", "two", 1, 10),
];
const ids = (list: { id: string }[]) => list.map(({ id }) => id).join("");

test.each(
  [
    [{ sort: "age", bySession: false }, "abcd"],
    [{ sort: "risk", bySession: false }, "cdab"],
    [{ sort: "age", bySession: true }, "adbc"],
    [{ sort: "risk", bySession: true }, "cbda"],
    [{ sort: "project", bySession: false }, "adbc"],
    [
      { sort: "project", bySession: false, nameOf: (id: string) => id === "app" ? "Z" : "A" },
      "bcad",
    ],
  ] as const,
)("%j gives %s", (by, expected) => {
  expect(ids(arrange(items, by))).toBe(expected);
  expect(ids(items)).toBe("cadb");
});

test("known items keep their places, and new ones follow in their order", () => {
  const sorted = arrange(items, { sort: "risk", bySession: false });
  expect(ids(keepPlaces(sorted, ["b", "gone", "a"]))).toBe("bacd");
  expect(ids(keepPlaces(sorted, []))).toBe("cdab");
});
