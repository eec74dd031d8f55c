import { expect, test } from "vitest";
import { folder, tool } from "./harness.ts";
import { BOARDS, type Bug, serveBoards } from "./nested_records.ts";

/** Runs all scenarios of the document. Returns the failures as `family operation`. */
async function failures(bug?: Bug): Promise<string[]> {
  const url = await serveBoards(bug);
  const { stdout } = await tool(
    folder({ "spec.json": BOARDS }),
    ...["run", "--target", url, "--spec", "spec.json", "--output", "json", "--as"],
    ...["alice=Authorization: Bearer alice", "--as", "bob=Authorization: Bearer bob"],
  );
  const { scenarios, executions } = JSON.parse(stdout);
  return executions.flatMap(({ status }: { status: string }, at: number) =>
    status === "failed" ? [`${scenarios[at].family} ${scenarios[at].operation}`] : []
  );
}

const card = "/boards/{board}/cards/{card}";

test.each<[Bug | undefined, string[]]>([
  [undefined, []],
  ["card_idor", [`foreign_record GET ${card}`]],
  ["any_points", [
    // On a board that the rehearsal made, each field shows the bug by itself too.
    "field_huge POST /boards/{board}/cards",
    "field_negative POST /boards/{board}/cards",
    "odd_updates POST /boards/{board}/cards",
    "field_missing POST /boards/{board}/cards",
    "field_type POST /boards/{board}/cards",
  ]],
  ["close_race", [`double_action POST ${card}/close`]],
  ["key_race", ["same_key_at_once POST /payments"]],
  ["key_replays", ["same_key_for_two POST /payments"]],
  ["key_ignored", ["same_key_twice POST /payments"]],
])("nested records and idempotency keys with the bug %s", async (bug, expected) => {
  expect((await failures(bug)).sort()).toEqual(expected.sort());
});
