import { expect, test } from "vitest";
import { folder, scenario, tool } from "./harness.ts";

const FILES = {
  "broken.json": "{",
  "broken.yaml": "openapi: [",
  "empty.yaml": " ",
  "other.json": { hello: "world" },
  "pathless.json": { openapi: "3.1.0" },
  "scenarios.json": { scenarios: [scenario()] },
  "help.txt": "nothing that is a help",
};

const CASES: [args: string, cause: string, next: string][] = [
  ["run --spec absent.json", 'Cannot read "absent.json": there is no such file', "by its path"],
  ["run --scenarios absent.json", "there is no such file", "by its path"],
  ["run --spec .", "it is a folder", "by its path"],
  ["run --spec broken.json", "Cannot read broken.json:1:2", "correct it there"],
  ["run --spec broken.yaml", "it is not valid YAML", "correct it there"],
  ["run --spec empty.yaml", "it is empty", "an OpenAPI 3"],
  ["run --spec other.json", "Cannot read other.json", "an OpenAPI 3"],
  ["run --spec pathless.json", "Cannot read", "give a"],
  ["run --spec https://", "Cannot fetch", "save the document"],
  ["run --spec http://127.0.0.1:9/openapi.json", "it is not on the target", "save the document"],
  ["run --target ftp://127.0.0.1", "it must be an http or https URL", "--target http://"],
  ["run --target http://127.0.0.1:9/a?b=1", "it must end with its path", "http://127.0.0.1:9/a"],
  ["run --target http://127.0.0.1:9", "Cannot reach", "--wait-for-target"],
  ["run --report xml=a.xml", "there is no such format", "junit=<file>"],
  ["run --report junit=help.txt/a.xml", "Cannot write the report", "may write to"],
  ["run --from-help ''", "it names no program", "--from-help git"],
  ["run --from-help tool=absent.txt", "ENOENT", "by its path"],
  ["run --from-help tool=help.txt", "it names no option", "tool --help > help.txt"],
  ["run --from-help no-such-program", "Cannot run", "no-such-program=help.txt"],
  ["run --only-requests --record x.jsonl", "Cannot use --record", "leave out --record"],
  ["run --filter ( --scenarios scenarios.json", "not a regular expression", "a part of a title"],
  ["run --baseline-update", "there is no --baseline", "--baseline"],
  ["init scenarios.json", "it exists already", "init another.json"],
  ["init help.txt/a.json", "Cannot write", "may write to"],
];

test.each(CASES)("%s: the error says what to do next", async (args, cause, next) => {
  const words = args.split(" ").map((word) => word === "''" ? "" : word);
  const { code, stderr } = await tool(folder(FILES), ...words);
  expect(code).toBe(3);
  expect(stderr).toContain(cause);
  const [, step] = /\n {2}try: (.+)\n/.exec(stderr) ?? [];
  expect(step, stderr).toContain(next);
});
