import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { parse as parsePlist } from "plist";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Machine } from "../../../cli/hosts/machine.ts";
import { createLaunchd } from "../../../cli/service/launchd.ts";
import { createSystemd } from "../../../cli/service/systemd.ts";
import { parseUnit, variableOf, wordsOf } from "./unit_file.ts";

const machine = (os: Machine["os"]): Machine => ({ os, home: "/home/ana", env: {} });
const systemd = createSystemd(machine("linux"));
const launchd = createLaunchd(machine("darwin"));

/** Common and unusual folder names. */
const NAMES = [
  "gate",
  "my gate",
  "it's",
  'say "hi"',
  "100%",
  "100% %h",
  "cash$HOME",
  "back\\slash",
  "a&b <c>",
  "täg 日本",
  "x=y;z#",
  "-dash",
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gate-unit-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function programIn(name: string) {
  const command = join(folder, name, "gate");
  mkdirSync(dirname(command), { recursive: true });
  writeFileSync(command, "#!/bin/sh\n");
  chmodSync(command, 0o755);
  const home = join(folder, name, ".gate");
  return { command, args: [`/${name}/main.ts`], env: { GATE_HOME: home, GATE_PORT: "1" }, home };
}

describe.each(NAMES)("in a folder called %s", (name) => {
  test("systemd starts this program with its variables", () => {
    const program = programIn(name);
    const { Service } = parseUnit(systemd.render(program));
    const words = wordsOf(Service!.ExecStart![0]!);
    const [shell, option, script, ...rest] = words;
    const isThroughShell = shell === "/bin/sh";
    expect(isThroughShell).toBe(/["'\\$]/.test(name));
    if (isThroughShell) expect([option, script]).toEqual(["-c", 'exec "$0" "$@"']);
    expect(isThroughShell ? rest : words)
      .toEqual([program.command, ...program.args, "daemon", "run", "--print-log"]);
    expect(Object.fromEntries(Service!.Environment!.map(variableOf))).toEqual(program.env);
  });

  test.skipIf(!hasVerify())("systemd-analyze accepts the unit", () => {
    const file = join(folder, "gate.service");
    writeFileSync(file, systemd.render(programIn(name)));
    expect(verify(file)).toEqual({ code: 0, output: "" });
  });

  test("launchd starts this program with its variables", () => {
    const program = programIn(name);
    expect(parsePlist(launchd.render(program))).toEqual({
      Label: "gate.daemon",
      ProgramArguments: [program.command, ...program.args, "daemon", "run"],
      EnvironmentVariables: program.env,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 5,
      ProcessType: "Background",
      Umask: 0o077,
      StandardOutPath: join(program.home, "logs", "service.log"),
      StandardErrorPath: join(program.home, "logs", "service.log"),
    });
  });
});

test("the unit has the supported hardening and restarts only after a failure", () => {
  const { Unit, Service, Install } = parseUnit(systemd.render(programIn("gate")));
  expect(Unit).toMatchObject({ StartLimitBurst: ["5"] });
  expect(Service).toMatchObject({
    Type: ["exec"],
    Restart: ["on-failure"],
    RestartSec: ["1"],
    NoNewPrivileges: ["yes"],
    UMask: ["0077"],
    MemoryMax: ["512M"],
    TasksMax: ["512"],
    LimitNOFILE: ["4096"],
    RestrictRealtime: ["yes"],
    LockPersonality: ["yes"],
    RestrictAddressFamilies: ["AF_UNIX AF_INET AF_INET6"],
  });
  // Each of these breaks the daemon; the comment at render() gives the reasons.
  for (const key of ["MemoryDenyWriteExecute", "ProtectHome", "PrivateTmp", "WatchdogSec"]) {
    expect(Service).not.toHaveProperty(key);
  }
  expect(Install).toEqual({ WantedBy: ["default.target"] });
});

test("without variables the file sets none", () => {
  const program = { ...programIn("gate"), env: {} };
  expect(parseUnit(systemd.render(program)).Service).not.toHaveProperty("Environment");
  expect(parsePlist(launchd.render(program))).not.toHaveProperty("EnvironmentVariables");
});

test("a line break in a path is refused, because it would add a line to the unit", () => {
  const program = { ...programIn("gate"), command: "/a\nExecStartPre=/evil" };
  expect(() => systemd.render(program)).toThrow("it contains a line break");
  expect(() => launchd.render(program)).toThrow("it contains a control character");
});

test("the files are where each system looks for them", () => {
  expect(systemd.file).toBe("/home/ana/.config/systemd/user/gate.service");
  expect(launchd.file).toBe("/home/ana/Library/LaunchAgents/gate.daemon.plist");
});

function hasVerify(): boolean {
  return spawnSync("systemd-analyze", ["--version"]).status === 0;
}

function verify(file: string): { code: number | null; output: string } {
  const env = { ...process.env, XDG_RUNTIME_DIR: folder, HOME: folder };
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["--user", "verify", file], {
    env,
    encoding: "utf8",
  });
  return { code: status, output: stdout + stderr };
}
