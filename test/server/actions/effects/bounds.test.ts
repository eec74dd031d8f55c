import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openCommands } from "./open_commands.ts";

describe("what a command reaches is looked for within bounds", () => {
  test("stars that all but fit are compared at once", async () => {
    const { gate, submit } = await openCommands();
    gate.write("a".repeat(250), "");
    const { reversibility } = await submit("run_command", { command: `rm ${"*a".repeat(60)}b` });
    expect(reversibility).toMatchObject({ level: "reversible", kept: 0 });
  });

  test.each([
    ["rm ?.txt", ["a.txt", "b.txt"]],
    ["rm [ab].txt", ["a.txt", "b.txt"]],
    ["rm *.l*g", ["x.log", "y.log"]],
    ["rm d*r/c.*", ["dir/c.txt"]],
    ["rm 'st*r' e\\?", ["st*r", "e?"]],
  ])("%s: finds what the shell would", async (command, names) => {
    const { gate, run, back, at } = await openCommands();
    for (const name of ["st*r", "star", "e?", "ee"]) gate.write(name, name);
    const { done } = await run(command);
    expect(names.filter((name) => existsSync(at(name)))).toEqual([]);
    await back(done.id);
    expect(names.filter((name) => existsSync(at(name)))).toEqual(names);
  });

  test("more names than anybody looks through make it partly undone at most", async () => {
    const { submit, at } = await openCommands();
    mkdirSync(at("full"));
    for (let n = 0; n <= 20_000; n++) writeFileSync(at(`full/${n}`), "");
    const { reversibility } = await submit("run_command", { command: "rm f*/none*" });
    expect(reversibility).toMatchObject({
      level: "partly",
      why: expect.stringContaining("more than 20000 names"),
    });
  });

  test("effects are not called reversible if not all of its files could be read", async () => {
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
