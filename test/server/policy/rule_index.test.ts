import { describe, expect, test } from "vitest";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import { evaluateCommand } from "./score.ts";

const of = (make: (at: number) => string) => Array.from({ length: 300 }, (_, at) => make(at));
const policy = compilePolicy({
  global: null,
  project: {
    defaultEffect: "allow",
    blockedCommands: of((at) => `npm run task${at}`),
    askCommands: ["npm publish", "npm run * --force"],
    blockedPaths: of((at) => `**/dir${at}/*.{ts,js}`),
    askPaths: of((at) => `docs/part${at}.md`),
  },
  override_global: false,
});

/** Which rules of many meet a command, although few of them are compared. */
const CASES: [command: string, rules: string[]][] = [
  ["npm run task7", ["npm run task7"]],
  ["npm --silent run task7", ["npm run task7"]],
  ["npm run other", []],
  ["npm run build --force", ["npm run * --force"]],
  ["npm run task8 --force", ["npm run task8", "npm run * --force"]],
  ["npm publish", ["npm publish"]],
  ["npm run 'task9'", ["npm run task9"]],
  ["npm run $x", [...of((at) => `npm run task${at}`), "npm run * --force"]],
  ["rm src/dir5/a.ts", ["**/dir5/*.{ts,js}"]],
  ["rm src/DIR5/a.ts", ["**/dir5/*.{ts,js}"]],
  ["rm src/dir5/a.rs", []],
  ["rm src/d?r5/a.ts", ["**/dir5/*.{ts,js}"]],
  ["rm src/dir29*/a.ts", of((at) => `**/dir${at}/*.{ts,js}`).filter((one) => /r29\d?\//.test(one))],
  ["rm docs/p*t42.md", ["docs/part42.md"]],
  ["rm docs/p*t42.txt", []],
];

describe("many rules", () => {
  test.each(CASES)("%s", (command, rules) => {
    const { matched } = evaluateCommand(command, policy);
    const named = matched.filter(({ source }) => source === "project").map(({ pattern }) =>
      pattern
    );
    expect(named.sort()).toEqual([...rules].sort());
  });
});
