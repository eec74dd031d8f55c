import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeTree } from "../../../server/runtime/remove_tree.ts";
import { createTempFolder } from "../../temp_folder.ts";

test.runIf(existsSync("/usr/bin/python3"))(
  "removes long paths, closed folders and odd names, and nothing behind a link",
  async () => {
    const base = createTempFolder("remove-tree");
    const folder = join(base, "tree");
    mkdirSync(folder);
    writeFileSync(join(base, "kept"), "kept");
    symlinkSync(base, join(folder, "link"));
    const code = [
      "import os",
      "open(b'bad\\xff', 'w').close(); os.mkdir(b'dir\\xfe'); open(b'dir\\xfe/in', 'w').close()",
      "os.mkdir('shut'); open('shut/in', 'w').close(); os.chmod('shut', 0)",
      "for i in range(40): os.mkdir('d'*200); os.chdir('d'*200)",
    ];
    execFileSync("python3", ["-c", code.join("\n")], { cwd: folder });
    await removeTree(folder);
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(join(base, "kept"))).toBe(true);
    await removeTree(folder);
  },
);
