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
const judged = (accesses: Parameters<typeof judgeOtherNames>[0]) =>
  judgeOtherNames(accesses, () => Promise.resolve([]));

test.each([0, 64, 500])("a file of several names asks behind %i others", async (count) => {
  const found = await judged([...plain(count), { access: "read", path: linked }]);
  expect(found?.reason).toMatch(/linked\.txt" has other names/);
  expect(await judged(plain(count))).toBeNull();
});

test("an action with more files than gate compares asks", async () => {
  expect(await judged(plain(4_097))).toMatchObject({ effect: "ask" });
});
