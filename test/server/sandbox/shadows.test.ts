import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { searchedPrograms, shadowsSince } from "../../../server/sandbox/shadows.ts";
import { createTempFolder } from "../../temp_folder.ts";

/** A machine with `git`, `ls` and `python3`, and a project, whose folder `bin` comes first in PATH. */
function createMachine({ search = ["project/bin", "machine"] } = {}) {
  const folder = createTempFolder("shadows");
  const root = join(folder, "project");
  const program = (path: string, mode = 0o755) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), "#!/bin/sh\n");
    chmodSync(join(folder, path), mode);
  };
  for (const name of ["git", "ls", "python3"]) program(`machine/${name}`);
  mkdirSync(root, { recursive: true });
  const search_path = search.map((one) => one === "" || one === "." ? one : join(folder, one))
    .join(":");
  let before = searchedPrograms([search_path], [root]);
  return {
    folder,
    root,
    program,
    link: (target: string, path: string) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      symlinkSync(target, join(folder, path));
    },
    remember: () => {
      before = searchedPrograms([search_path], [root]);
    },
    shadows: () =>
      shadowsSince(before, [root]).map((path) => path.slice(root.length + 1)).toSorted(),
  };
}

test("programs that would start in the place of the machine's, and no others", () => {
  const { program, shadows } = createMachine();
  program("project/bin/tsc");
  program("project/other/ls");
  program("project/bin/notes", 0o644);
  program("project/bin/python3", 0o644);
  expect(shadows()).toEqual([]);
  program("project/bin/git");
  expect(shadows()).toEqual(["bin/git"]);
});

test("what was a program before is none of them, and a file that became one is", () => {
  const { program, remember, shadows, folder } = createMachine();
  program("project/bin/git");
  program("project/bin/ls", 0o644);
  remember();
  expect(shadows()).toEqual([]);
  chmodSync(join(folder, "project/bin/ls"), 0o755);
  expect(shadows()).toEqual(["bin/ls"]);
});

test("a link counts unless it leads to a program of this name outside", () => {
  const { folder, link, program, shadows } = createMachine();
  program("machine/python3.11");
  link(join(folder, "machine/python3.11"), "project/bin/python3");
  expect(shadows()).toEqual([]);
  link(join(folder, "machine/python3"), "project/bin/git");
  program("project/evil/ls");
  link("../evil/ls", "project/bin/ls");
  expect(shadows()).toEqual(["bin/git", "bin/ls"]);
});

test("another folder in the place of that of the search path has no known programs", () => {
  const { program, remember, shadows, root, folder } = createMachine();
  program("project/bin/git");
  program("project/planted/git");
  remember();
  rmSync(join(root, "bin"), { recursive: true });
  symlinkSync(join(folder, "project/planted"), join(root, "bin"));
  expect(shadows()).toEqual(["planted/git"]);
});

test.each([[["machine", "project/bin"], []], [[".", "machine"], ["git"]], [["", "machine"], [
  "git",
]]])("the order of the search path %j counts, and relative folders", (search, expected) => {
  const { program, shadows } = createMachine({ search });
  program("project/bin/git");
  program("project/git");
  expect(shadows()).toEqual(expected);
});
