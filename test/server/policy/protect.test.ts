import { expect, test } from "vitest";
import { namePath } from "../../../server/policy/path_match.ts";
import { protectData, protectWrite } from "../../../server/policy/protect.ts";

const HOME = "/home/ada";

const CASES: [root: string, path: string, reason: string][] = [
  [
    "/p",
    "/p/.claude/settings.json",
    'An agent host\'s settings (".claude/settings.json"): a person',
  ],
  // Outside of every project the root is the whole disk.
  ["/", `${HOME}/.claude/settings.json`, `("${HOME}/.claude/settings.json"): a person`],
  ["/p", `${HOME}/.config/systemd/user/a`, `("${HOME}/.config/systemd/user/a") is off limits`],
];

test.each(CASES)(
  "the reason for a protected place below %s names the file %s",
  (root, path, why) => {
    const reasons = protectWrite([namePath(path, [root], HOME)]).map(({ reason }) => reason);
    expect(reasons).toEqual([expect.stringContaining(why)]);
  },
);

test("the reason for gate's own data names the file", () => {
  const names = namePath(`${HOME}/.gate/gate.db`, ["/p"], HOME);
  expect(protectData([names], "/other")).toMatchObject([
    { reason: `The gate's own data ("${HOME}/.gate/gate.db") is off limits` },
  ]);
});
