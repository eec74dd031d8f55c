import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { readSmallFile } from "../../../server/runtime/small_file.ts";
import { createTestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";

describe("readSmallFile()", () => {
  test("gives the text of a file, without the mark of its encoding", () => {
    const path = join(createTempFolder("small"), "f");
    writeFileSync(path, "\ufeffhällo");
    expect(readSmallFile(path, 100)).toBe("hällo");
  });

  test.each([
    [
      "what is longer than allowed",
      (path: string) => writeFileSync(path, "x".repeat(11)),
      /longer/,
    ],
    ["a folder", (path: string) => mkdirSync(path), /not a regular file|EISDIR/],
    ["what is no UTF-8", (path: string) => writeFileSync(path, new Uint8Array([0xff])), /./],
    ["nothing", () => {}, /ENOENT/],
  ])("refuses %s", (_, put, message) => {
    const path = join(createTempFolder("small"), "f");
    put(path);
    expect(() => readSmallFile(path, 10)).toThrow(message);
  });
});

test.skipIf(process.platform === "win32")(
  "a pipe as the config denies, and holds nobody up",
  async () => {
    const gate = await createTestGate();
    const pipe = join(gate.root, "gate.config.json");
    rmSync(pipe);
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    // Were the pipe waited for, this would let the test go on and fail.
    const rescue = spawn("sh", ["-c", 'sleep 5; echo "{}" > "$1"', "sh", pipe]);
    onTestFinished(() => void rescue.kill());
    const { config } = gate.project;
    const { effect, reason } = await config.test({ path: "a.ts", action: "write" });
    expect(effect).toBe("deny");
    expect(reason).toContain("is not a regular file");
  },
);
