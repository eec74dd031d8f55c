import { expect, test } from "vitest";
import { Findings } from "../../../cli/doctor/findings.ts";
import { checkSpace } from "../../../cli/doctor/system.ts";

const MIB = 1024 * 1024;

test.each([
  [0, "problem", "the disk is full: gate cannot record actions"],
  [MIB - 1, "problem", "the disk is full: gate cannot record actions"],
  [MIB, "problem", "only 1 MiB are free: gate soon cannot record actions"],
  [100 * MIB, "warning", "only 100 MiB are free"],
  [1536 * MIB, "ok", "1.5 GiB are free"],
])("with %d free bytes the disk is a %s: %s", (bytes, level, message) => {
  const found = new Findings("disk");
  checkSpace(bytes, "/data", found);
  const fix = level === "ok" ? null : "make room on the disk of /data";
  expect(found.list).toMatchObject([{ level, message, fix }]);
});
