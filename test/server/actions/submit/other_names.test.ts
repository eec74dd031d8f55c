import { linkSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { judgeOtherNames } from "../../../../server/actions/submit/other_names.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "gate-names-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const linked = join(root, "linked.txt");
writeFileSync(join(root, "plain.txt"), "x");
writeFileSync(linked, "x");
linkSync(linked, join(root, "secret"));

const plain = (count: number) =>
  Array.from({ length: count }, () => ({ access: "read" as const, path: join(root, "plain.txt") }));
const policy = {
  compiled: { rules: [{ list: "blockedPaths", pattern: "secret" }] },
  around: { roots: [root], user_home: "/nowhere" },
};
const blocking = { inForce: () => Promise.resolve(policy) } as unknown as Own;
const nothing = {
  inForce: () => Promise.resolve({ ...policy, compiled: { rules: [] } }),
} as unknown as Own;
type Own = Parameters<typeof judgeOtherNames>[1];
const judged = (
  accesses: { access: "read" | "delete"; path: string }[],
  { own = nothing, open = [] }: { own?: Own; open?: string[] } = {},
) => judgeOtherNames({ accesses, open }, own, () => Promise.resolve([own]));

test.each([0, 64, 500])("a file of several names asks behind %i others", async (count) => {
  const found = await judged([...plain(count), { access: "read", path: linked }]);
  expect(found?.reason).toMatch(/linked\.txt" has other names/);
  expect(await judged(plain(count))).toBeNull();
});

test("an action with more files than gate compares asks", async () => {
  expect(await judged(plain(4_097))).toMatchObject({ effect: "ask" });
});

test("another name of a blocked file is neither read nor moved away", async () => {
  for (const access of ["read", "delete"] as const) {
    expect(await judged([{ access, path: linked }], { own: blocking }))
      .toMatchObject({ effect: "deny" });
  }
  expect(await judged([{ access: "delete", path: linked }])).toBeNull();
});

test("a pattern asks while a blocked file has another name", async () => {
  expect(await judged([], { own: blocking, open: ["src/*"] })).toMatchObject({
    effect: "ask",
    reason: expect.stringMatching(/secret" has other names.*"src\/\*" may hold one/),
  });
  expect(await judged([], { open: ["src/*"] })).toBeNull();
  const folder = [{ access: "read" as const, path: root }];
  expect(await judged(folder, { own: blocking })).toMatchObject({ effect: "ask" });
  expect(await judged(folder)).toBeNull();
  expect(await judged([], { own: blocking })).toBeNull();
});
