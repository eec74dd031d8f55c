import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { kernelSwitches } from "../../../server/sandbox/kernel_switches.ts";
import { createTempFolder } from "../../temp_folder.ts";

test("an entry with a file that its owner may write is a switch, however deep the file is", () => {
  const proc = createTempFolder("proc");
  const put = (path: string, mode: number) => {
    mkdirSync(dirname(join(proc, path)), { recursive: true });
    writeFileSync(join(proc, path), "");
    chmodSync(join(proc, path), mode);
  };
  put("acpi/wakeup", 0o644);
  put("fs/cifs/client/flags", 0o600);
  put("latency_stats", 0o644);
  put("fs2/ext4/disk/options", 0o444);
  put("cpuinfo", 0o444);
  put("42/oom_score_adj", 0o644);
  put("sys/kernel/core_pattern", 0o644);
  put("pressure/io", 0o666);
  symlinkSync("42", join(proc, "self"));
  expect(kernelSwitches(proc)).toEqual(
    ["acpi", "fs", "latency_stats"].map((name) => join(proc, name)),
  );
});

test("an entry with more files than gate looks at counts as a switch", () => {
  const proc = createTempFolder("proc");
  mkdirSync(join(proc, "driver/a/b/c/d"), { recursive: true });
  mkdirSync(join(proc, "tty/a/b"), { recursive: true });
  expect(kernelSwitches(proc)).toEqual([join(proc, "driver")]);
});
