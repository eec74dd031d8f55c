import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { afterEach, expect, test, vi } from "vitest";
import { commandOf, POSIX } from "../../../server/runtime/processes.ts";
import { readProgram } from "../../../server/runtime/read_program.ts";
import { systemProgram } from "../../../server/runtime/system_program.ts";
import { createTempFolder } from "../../temp_folder.ts";

afterEach(() => void vi.unstubAllEnvs());

/** A folder with a program of this name that leaves a mark, before all others in PATH. */
function plant(name: string) {
  const folder = createTempFolder("planted");
  const mark = join(folder, "started");
  writeFileSync(join(folder, name), `#!/bin/sh\ntouch ${mark}\n`);
  chmodSync(join(folder, name), 0o755);
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"]}`);
  return { folder, isStarted: () => existsSync(mark) };
}

test("the first folder with a program counts, and PATH does not", () => {
  const { folder } = plant("git");
  const other = createTempFolder("planted");
  writeFileSync(join(other, "git"), "no program");
  expect(systemProgram("git", [other, folder])).toBe(join(folder, "git"));
  expect(systemProgram("git", [other])).toBeNull();
  expect(systemProgram("git")).not.toBe(join(folder, "git"));
});

test("a program that somebody put into PATH is not read", async () => {
  const { isStarted } = plant("git");
  expect(await readProgram("git", ["--version"])).toMatch(/^git version/);
  expect(isStarted()).toBe(false);
});

test("nor is the table of processes one of PATH", () => {
  const { isStarted } = plant("ps");
  expect(POSIX.command(process.pid)?.split(" ")[0]).toBe(commandOf(process.pid).split(" ")[0]);
  expect(isStarted()).toBe(false);
});

test("a program that is nowhere gives nothing", async () => {
  expect(await readProgram("gate-no-such-program", [])).toBeNull();
});
