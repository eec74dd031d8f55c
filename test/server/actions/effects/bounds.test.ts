import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openCommands } from "./open_commands.ts";

describe("the search for a command's files is bounded", () => {
  test("a pattern with 60 stars that nearly matches is compared quickly", async () => {
    const { gate, submit } = await openCommands();
    gate.write("a".repeat(250), "");
    const { reversibility } = await submit("run_command", { command: `rm ${"*a".repeat(60)}b` });
    expect(reversibility).toMatchObject({ level: "reversible", kept: 0 });
  });

  test.each([
    ["rm ?.txt", ["a.txt", "b.txt"]],
    ["rm [ab].txt", ["a.txt", "b.txt"]],
    ["rm *.l*g", ["x.log", "y.log"]],
    ["rm d*r/*.txt", ["dir/c.txt"]],
    ["rm 'st*r' e\\?", ["st*r", "e?"]],
  ])("%s: finds the files that the shell finds", async (command, names) => {
    const { gate, run, back, at } = await openCommands();
    for (const name of ["st*r", "star", "e?", "ee"]) gate.write(name, name);
    const { done } = await run(command);
    expect(names.filter((name) => existsSync(at(name)))).toEqual([]);
    await back(done.id);
    expect(names.filter((name) => existsSync(at(name)))).toEqual(names);
  });

  test("a pattern over more than 20,000 names is at most partly reversible", async () => {
    const { submit, at } = await openCommands();
    mkdirSync(at("full"));
    for (let n = 0; n <= 20_000; n++) writeFileSync(at(`full/${n}`), "");
    const { reversibility } = await submit("run_command", { command: "rm f*/none*" });
    expect(reversibility).toMatchObject({
      level: "partly",
      why: expect.stringContaining("more than 20000 names"),
    });
  });

  test("a command is only partly reversible when not all of its files could be read", async () => {
    const { gate, run } = await openCommands();
    for (let n = 0; n < 1_100; n++) gate.write(`many/${n}`, "");
    const { asked, done } = await run("cp -r many copy");
    expect(asked.reversibility!.level).toBe("reversible");
    expect(done.reversibility).toMatchObject({
      level: "partly",
      why: expect.stringMatching(/not all of its files could be read/i),
    });
  });
});
