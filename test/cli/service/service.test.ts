import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { platform } from "node:os";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../e2e/world.ts";
import type { Io } from "../../../cli/io.ts";
import { findService } from "../../../cli/service/service.ts";
import { createTerminal, type Ended, type TestTerminal } from "../terminal.ts";
import { installFakeSystemd } from "./fake_manager.ts";
import { parseUnit, variableOf } from "./unit_file.ts";

let terminal: TestTerminal;
let calls: () => string[];
let unit: string;
beforeEach(async () => {
  terminal = await createTerminal();
  const fake = installFakeSystemd(terminal.folder);
  terminal.env.GATE_SYSTEM_PATH = fake.bin;
  calls = fake.calls;
  unit = join(terminal.folder, ".config/systemd/user/gate.service");
});
afterEach(async () => {
  await terminal.run(["daemon", "stop"]);
  terminal.close();
});

async function good(...args: string[]): Promise<Ended> {
  const ended = await terminal.run(args);
  expect(ended, args.join(" ")).toMatchObject({ code: 0 });
  return ended;
}

/** Waits, because the daemon answers a moment before it logs its start. */
function startedIsLogged(...args: string[]): Promise<boolean> {
  return until(
    "the start is logged",
    async () => (await good("service", "logs", ...args)).stdout.includes('"message":"started"'),
  );
}

// deno-lint-ignore no-explicit-any
const json = async (...args: string[]): Promise<any> => JSON.parse((await good(...args)).stdout);

test("on Windows an error suggests gate daemon start", () => {
  const io = { env: terminal.env, cwd: terminal.folder } as Io;
  const machine = { os: "win32", home: terminal.folder, env: terminal.env } as const;
  expect(() => findService(io, machine)).toThrow(
    expect.objectContaining({
      message: "Cannot install a service on Windows: gate supports only launchd and systemd",
      next: expect.stringContaining("gate daemon start"),
    }),
  );
});

describe.skipIf(platform() !== "linux")("gate service, with systemd", () => {
  test("programs of these names in PATH are never started", async () => {
    const planted = join(terminal.folder, "planted");
    const mark = join(terminal.folder, "started");
    mkdirSync(planted);
    for (const name of ["systemctl", "journalctl", "logger"]) {
      writeFileSync(join(planted, name), `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    }
    terminal.env.PATH = `${planted}:${terminal.env.PATH}`;
    for (const from of [terminal.env.GATE_SYSTEM_PATH, undefined]) {
      terminal.env.GATE_SYSTEM_PATH = from;
      await terminal.run(["service", "status"]);
      await good("daemon", "start");
      await good("init", "--yes");
      await terminal.run(["audit", "verify"]);
      await good("daemon", "stop");
    }
    expect(existsSync(mark)).toBe(false);
  });

  test("install, status, logs and remove work, and install and remove can be repeated", async () => {
    expect(await terminal.run(["service", "status"])).toMatchObject({ code: 1 });
    const installed = await json("service", "install", "--json");
    expect(installed).toMatchObject({ outcome: "created", backup: null, file: unit });
    expect(calls()).toEqual([
      "daemon-reload",
      "enable gate.service",
      "reset-failed gate.service",
      "restart gate.service",
    ]);
    expect(await json("daemon", "status", "--json")).toMatchObject({ pid: installed.pid });
    const { Service } = parseUnit(readFileSync(unit, "utf8"));
    expect(Service!.Environment!.map(variableOf)).toEqual([["GATE_PORT", terminal.env.GATE_PORT], [
      "UV_THREADPOOL_SIZE",
      "16",
    ]]);

    const again = await json("service", "install", "--json");
    expect(again).toMatchObject({ outcome: "unchanged", pid: installed.pid });
    expect(calls()).toHaveLength(4);
    expect(await json("service", "status", "--json")).toMatchObject({
      installed: true,
      current: true,
      enabled: true,
      running: true,
      pid: installed.pid,
      daemon_pid: installed.pid,
      says: "active (running)",
    });
    // The journal also holds the daemon's own lines.
    await startedIsLogged();
    const following = terminal.run(["service", "logs", "--follow"]);
    await until("the journal is shown", () => terminal.printed().includes('"message":"started"'));
    terminal.signal("SIGINT");
    expect(await following).toMatchObject({ code: 0, stderr: "" });
    expect((await good("service", "remove")).stdout).toContain(`Removed ${unit}`);
    expect(existsSync(unit)).toBe(false);
    expect(calls().slice(4)).toEqual(["disable --now gate.service", "daemon-reload"]);
    expect(await terminal.run(["daemon", "status"])).toMatchObject({ code: 1 });
    expect((await good("service", "remove")).stdout).toBe("No service is installed.\n");
  });

  test("install replaces a running daemon and says so", async () => {
    await good("daemon", "start");
    const { pid } = await json("daemon", "status", "--json");
    const { stderr } = await good("service", "install");
    expect(stderr).toContain(`Stopping the running daemon (pid ${pid})`);
    const now = await json("daemon", "status", "--json");
    expect(now.pid).not.toBe(pid);
    expect(await json("service", "status", "--json")).toMatchObject({ daemon_pid: now.pid });
  });

  test("install replaces and backs up gate's older unit, and refuses a foreign one", async () => {
    await good("service", "install");
    const written = readFileSync(unit, "utf8");
    writeFileSync(unit, written.replace("MemoryMax=512M", "MemoryMax=64M"));
    expect(await json("service", "status", "--json")).toMatchObject({ current: false });
    const { outcome, backup } = await json("service", "install", "--json");
    expect([outcome, readFileSync(unit, "utf8")]).toEqual(["updated", written]);
    expect(readFileSync(backup, "utf8")).toContain("MemoryMax=64M");
    writeFileSync(unit, "[Service]\nExecStart=/mine\n");
    for (const verb of ["install", "remove"]) {
      const refused = await terminal.run(["service", verb]);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("it was not written by gate\n  try: mv ");
    }
    expect(readFileSync(unit, "utf8")).toBe("[Service]\nExecStart=/mine\n");
    writeFileSync(unit, written);
    await good("service", "remove");
  });

  test("install without a systemd session fails with a next step and writes nothing", async () => {
    writeFileSync(join(terminal.folder, "fake-state", "no-session"), "");
    const refused = await terminal.run(["service", "install"]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("systemd has no session for this user (Failed to connect");
    expect(refused.stderr).toContain("try: ");
    expect(existsSync(unit)).toBe(false);
    const bare = await createTerminal({ GATE_SYSTEM_PATH: "/nonexistent" });
    expect((await bare.run(["service", "install"])).stderr).toContain("this Linux has no systemd");
    bare.close();
  });

  test("--dry-run prints the unit and installs nothing", async () => {
    const { stdout, stderr } = await good("service", "install", "--dry-run");
    expect(parseUnit(stdout).Install).toEqual({ WantedBy: ["default.target"] });
    expect(stderr).toContain(unit);
    expect(await json("service", "install", "--dry-run", "--json"))
      .toMatchObject({ dry_run: true, manager: "systemd", text: stdout });
    expect([existsSync(unit), calls()]).toEqual([false, []]);
  });

  test("install --auth none is refused", async () => {
    const refused = await terminal.run(["service", "install", "--auth", "none"]);
    expect(refused).toMatchObject({ code: 64, stdout: "" });
    expect(refused.stderr).toContain("a service always requires a token");
    expect(existsSync(unit)).toBe(false);
  });

  test("without a journal, service logs prints the daemon's log", async () => {
    await good("daemon", "start");
    await startedIsLogged("-n", "1");
  });
});
