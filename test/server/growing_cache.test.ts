import { expect, test } from "vitest";
import { createGrowingCache } from "../../server/growing_cache.ts";

test("beyond its size it forgets what was used longest ago", () => {
  const cache = createGrowingCache<string>(2);
  cache.set("a", "1").set("b", "2");
  cache.get("a");
  cache.set("c", "3");
  expect([...cache.keys()].sort()).toEqual(["a", "c"]);
  for (let n = 0; n < 1_000; n++) cache.set(`${n}`, "x");
  expect([...cache.keys()]).toEqual(["999", "998"]);
});
