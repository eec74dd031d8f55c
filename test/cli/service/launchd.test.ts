import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLaunchd } from "../../../cli/service/launchd.ts";
import type { ServiceManager } from "../../../cli/service/manager.ts";

const DOMAIN = `gui/${userInfo().uid}`;

let folder: string;
let launchd: ServiceManager;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gate-launchd-"));
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin", "launchctl"), LAUNCHCTL.replaceAll("STATE", folder));
  chmodSync(join(folder, "bin", "launchctl"), 0o755);
  const env = { ...process.env, GATE_SYSTEM_PATH: `${folder}/bin` };
  launchd = createLaunchd({ os: "darwin", home: folder, env });
});
afterEach(() => rmSync(folder, { recursive: true }));

const calls = () => readFileSync(join(folder, "calls"), "utf8").trim().split("\n");

/** A fake launchctl. Like the real one, it unloads only after the next request for the state. */
const LAUNCHCTL = `#!/bin/bash
echo "$*" >> STATE/calls
case "$1 $2" in
  "print ${DOMAIN}") [ ! -e STATE/no-session ] ;;
  "print ${DOMAIN}/gate.daemon")
    if [ -e STATE/ending ]; then rm STATE/ending STATE/loaded
    elif [ -e STATE/loaded ]; then printf 'x = {\\n\\tstate = running\\n\\tpid = 4711\\n}\\n'
    else exit 113; fi ;;
  "bootstrap ${DOMAIN}") [ ! -e STATE/loaded ] || exit 5; touch STATE/loaded ;;
  "bootout ${DOMAIN}/gate.daemon") [ -e STATE/loaded ] || exit 3; touch STATE/ending ;;
esac
`;

test("activate() loads the service and replaces a loaded one; deactivate() unloads it", async () => {
  expect(await launchd.obstacle()).toBeNull();
  expect(await launchd.state()).toMatchObject({ enabled: false, running: false, pid: null });
  await launchd.activate();
  expect(await launchd.state())
    .toEqual({ enabled: true, running: true, pid: 4711, says: "running" });
  await launchd.activate();
  const changes = calls().filter((line) => line.startsWith("boot"));
  expect(changes).toEqual([
    `bootstrap ${DOMAIN} ${launchd.file}`,
    `bootout ${DOMAIN}/gate.daemon`,
    `bootstrap ${DOMAIN} ${launchd.file}`,
  ]);
  await launchd.deactivate();
  expect(await launchd.state()).toMatchObject({ enabled: false, running: false });
});

test("obstacle() gives the next step without a login session", async () => {
  writeFileSync(join(folder, "no-session"), "");
  expect(await launchd.obstacle()).toMatchObject({
    why: "launchd has no session for this user",
    next: expect.stringContaining("log in at the screen"),
  });
});

test("journal() is null, because launchd keeps no log", async () => {
  expect(await launchd.journal({ lines: 1, follow: false, json: false })).toBeNull();
});
