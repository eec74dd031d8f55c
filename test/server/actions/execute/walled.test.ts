import { mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { leadsOutside } from "../../../../server/actions/execute/walled.ts";
import { createTempFolder } from "../../../temp_folder.ts";

test("an opened folder leads outside the project by its place, or by a link in the project", () => {
  const base = realpathSync(createTempFolder("walled"));
  const root = join(base, "project");
  mkdirSync(join(root, "inner"), { recursive: true });
  mkdirSync(join(base, "other"));
  symlinkSync(join(base, "other"), join(root, "link"));
  expect(leadsOutside(join(root, "inner"), [root])).toBe(false);
  expect(leadsOutside(join(base, "other"), [root])).toBe(true);
  expect(leadsOutside(join(root, "link"), [root])).toBe(true);
  expect(leadsOutside("~/cache", [root])).toBe(true);
  expect(leadsOutside("~/cache", [realpathSync(homedir())])).toBe(false);
});
