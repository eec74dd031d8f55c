import { join } from "node:path";
import { expect, test } from "vitest";
import { openConfig, saveConfig } from "../../../../cli/hosts/edit/config_file.ts";
import { createTempFolder } from "../../../temp_folder.ts";

test("a folder that takes no file is told in words, with the next step", async () => {
  const folder = createTempFolder("hosts");
  // The name is as long as a file system allows, and the temporary file's name is longer.
  const path = join(folder, "a".repeat(255));
  const saved = saveConfig(openConfig(path), "{}", { home: folder, label: "x" });
  await expect(saved).rejects.toMatchObject({
    message: `Cannot change "${path}": the name is too long`,
    next: expect.stringContaining(`make "`),
  });
});
