import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { thisMachine } from "../../dist/targets.ts";
import process from "node:process";
import { createTempFolder } from "../temp_folder.ts";

const SCRIPT = fileURLToPath(new URL("../../dist/install.sh", import.meta.url));
const NAME = `gate-${thisMachine(process.platform, process.arch, false).name}`;
const PROGRAM = "#!/bin/sh\necho gate 1.2.3\n";

describe.skipIf(process.platform === "win32")("install.sh", () => {
  function release({ checksum = sha256(PROGRAM), name = NAME } = {}) {
    const folder = createTempFolder("release");
    writeFileSync(join(folder, NAME), PROGRAM);
    writeFileSync(join(folder, "checksums.txt"), `${checksum}  ${name}\n`);
    return folder;
  }

  function install(from: string) {
    const to = join(createTempFolder("install"), "new folder");
    const { status, stdout, stderr } = spawnSync("sh", [SCRIPT, from, to], { encoding: "utf8" });
    return { status, stdout, stderr, to };
  }

  test("installs the executable for this machine and shows the missing PATH entry", () => {
    const { status, stdout, to } = install(release());
    expect(status).toBe(0);
    expect(stdout).toContain(`gate 1.2.3 is in ${to}`);
    expect(stdout).toContain(`export PATH="${to}:$PATH"`);
    expect(readFileSync(join(to, "gate"), "utf8")).toBe(PROGRAM);
    expect(readlinkSync(join(to, "scenario-tool"))).toBe("gate");
  });

  test.each([
    ["an executable whose checksum does not match", { checksum: sha256("other") }, "is not what"],
    ["a release without an executable for this machine", { name: "gate-vax" }, "does not know"],
  ])("refuses %s and installs nothing", (_, options, message) => {
    const { status, stderr, to } = install(release(options));
    expect(status).toBe(1);
    expect(stderr).toContain(message);
    expect(() => readFileSync(join(to, "gate"))).toThrow("ENOENT");
  });

  test.each([
    ["without a release", "", /^install\.sh: name the address or folder of a release: .+\n$/],
    [
      "a folder that is no release",
      "/nowhere",
      /^install\.sh: cannot read "\/nowhere\/checks.+\n$/,
    ],
  ])("%s it says what to give", (_, from, message) => {
    const { status, stdout, stderr } = install(from);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(message);
  });

  test("refuses a URL without encryption", () => {
    const { status, stderr } = install("http://127.0.0.1:9/release");
    expect(status).toBe(1);
    expect(stderr).toContain("use https");
  });
});

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
