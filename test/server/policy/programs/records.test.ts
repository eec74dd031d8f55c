import { expect, test } from "vitest";
import { unknownOptions } from "../../../../server/policy/programs/known_options.ts";
import { ARCHIVES } from "../../../../server/policy/programs/archives.ts";
import { DEVELOPMENT } from "../../../../server/policy/programs/development.ts";
import { FILES } from "../../../../server/policy/programs/files.ts";
import { NETWORK } from "../../../../server/policy/programs/network.ts";
import { row } from "../../../../server/policy/programs/record.ts";
import { SEARCH } from "../../../../server/policy/programs/search.ts";
import { TEXT } from "../../../../server/policy/programs/text.ts";
import { WORDS } from "../../../../server/policy/programs/words.ts";

test("a record lists the options of each kind", () => {
  const { reads, writes, code, grammar } = row(
    "reads",
    "-f,--from=< -T,--list=& -o,--output=> --pager=?! -l,--load=~ -v,--verbose -n=#",
  );
  expect({ reads, writes, code }).toEqual({
    reads: ["from", "list"],
    writes: ["output"],
    code: ["pager"],
  });
  expect(grammar.short.get("l")).toEqual({ name: "load", value: "required", kind: "loads" });
  expect(grammar.long.get("verbose")).toEqual({ name: "verbose", value: "none", kind: "plain" });
  expect(grammar.short.get("n")!.value).toBe("digits");
});

test("a program is in one family", () => {
  const families = [ARCHIVES, DEVELOPMENT, FILES, NETWORK, SEARCH, TEXT, WORDS].map(Object.keys);
  const names = families.flat();
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

/** Options that no allow rule for the program covers unless it names them. */
test.each([
  ["sort", ["-n", "-k2", "--reverse", "-o", "x"], []],
  ["sort", ["--compress-program=x"], ["compress-program"]],
  ["sort", ["--files0-from=x"], ["files0-from"]],
  ["rg", ["-n", "--type", "ts", "-g", "!x", "name"], []],
  ["rg", ["--pre", "x", "name"], ["pre"]],
  ["rg", ["--ignore-file=x", "name"], ["ignore-file"]],
  ["grep", ["-rn", "--include=*.ts", "name"], []],
  ["grep", ["--frob", "name"], ["frob"]],
  ["find", [".", "-name", "x", "-print"], []],
  ["find", [".", "-frob"], ["frob"]],
  ["tar", ["-x"], []],
  ["rsync", ["-av", "-e", "ssh"], ["rsh"]],
  ["cargo", ["test", "--config=x"], ["config"]],
  ["terraform", ["plan", "-out=x"], []],
  ["frob", ["-x", "--long=1"], ["x", "long"]],
  ["git", ["diff", "--stat"], []],
  ["git", ["diff", "--output=x"], ["output"]],
])("%s %j", (program, args, unknown) => {
  expect(unknownOptions(program, args)).toEqual(unknown);
});
