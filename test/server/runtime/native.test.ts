import { createHash } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { keepLibrary } from "../../../server/runtime/native.ts";
import { createTempFolder } from "../../temp_folder.ts";

function shipped(text = "the library") {
  const folder = createTempFolder("native");
  const file = join(folder, "shipped.node");
  writeFileSync(file, text);
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { folder: join(folder, "home", "lib"), library: { file, sha256 } };
}

describe("keepLibrary()", () => {
  test("writes the library once, for nobody else to write", () => {
    const { folder, library } = shipped();
    const first = keepLibrary(library, folder);
    expect(readFileSync(first, "utf8")).toBe("the library");
    expect(keepLibrary(library, folder)).toBe(first);
    expect(readdirSync(folder)).toEqual([`${library.sha256}.node`]);
  });

  test("puts the shipped bytes in place of planted ones", () => {
    const { folder, library } = shipped();
    const file = keepLibrary(library, folder);
    writeFileSync(file, "planted");
    expect(readFileSync(keepLibrary(library, folder), "utf8")).toBe("the library");
  });

  test("replaces a planted link and leaves its target alone", () => {
    const { folder, library } = shipped();
    const file = keepLibrary({ ...library, sha256: library.sha256 }, folder);
    const other = join(folder, "..", "other.node");
    writeFileSync(other, "elsewhere");
    const second = shipped("another library");
    symlinkSync(other, join(folder, `${second.library.sha256}.node`));
    expect(readFileSync(keepLibrary(second.library, folder), "utf8")).toBe("another library");
    expect(readFileSync(other, "utf8")).toBe("elsewhere");
    expect(readFileSync(file, "utf8")).toBe("the library");
  });

  test("refuses bytes that are not those of the hash", () => {
    const { folder, library } = shipped();
    const wrong = { ...library, sha256: "0".repeat(64) };
    expect(() => keepLibrary(wrong, folder)).toThrow("is not the library of this release");
  });

  test("refuses a folder that others can write, and says how to mend it", () => {
    const { folder, library } = shipped();
    keepLibrary(library, folder);
    chmodSync(folder, 0o777);
    expect(() => keepLibrary(library, folder)).toThrow(`chmod 700 "${folder}"`);
  });
});
