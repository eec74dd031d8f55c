import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import type { Surroundings } from "../../../server/policy/evaluate.ts";
import type { Policies } from "../../../server/policy/schema.ts";
import { runCommand, type RunOptions } from "../../../server/runtime/spawn.ts";
import { startBehind } from "../../../server/sandbox/bubblewrap.ts";
import type { SandboxEngine } from "../../../server/environment.ts";
import { findEngine } from "../../../server/sandbox/engine.ts";
import { startConfined } from "../../../server/sandbox/landlock.ts";
import { BlockedFiles } from "../../../server/sandbox/find_blocked.ts";
import { judgeOf } from "../../../server/sandbox/judge.ts";
import { type WallsInput, wallsOf } from "../../../server/sandbox/walls.ts";
import { createTempFolder } from "../../temp_folder.ts";

// A sandbox has a `/dev` of its own, so no test of it has its folders there.
if (tmpdir().startsWith("/dev/")) process.env["TMPDIR"] = "/tmp";

/** Bubblewrap, if it runs here; without it, the tests of running commands say so and are left out. */
export const ENGINE = await findEngine({ confine: null });
if (ENGINE === null) {
  console.error("NOT RUN: no sandbox engine here, so no command was tried in a sandbox");
}

/** A machine of folders: a home, gate's data and a project in it. */
export function createStage(
  files: Record<string, string> = {},
  policies: Policies = { blockedPaths: [".env", "*.pem", "**/secrets/**"], askPaths: ["kept/**"] },
  { engine = ENGINE, confine = null }: {
    engine?: SandboxEngine | null;
    confine?: readonly string[] | null;
  } = {},
) {
  const base = realpathSync(createTempFolder("sandbox"));
  const home = join(base, "home/user");
  const root = join(home, "project");
  const gate_home = join(home, ".gate");
  for (const folder of [root, gate_home]) mkdirSync(folder, { recursive: true });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  const compiled = compilePolicy({ global: null, project: policies, override_global: false });
  const around: Surroundings = {
    roots: [root],
    user_home: home,
    gate_home,
    port: 47_000,
    resolve: (path) => ({ lexical: path, real: path }),
  };
  const judge = judgeOf(compiled, around);
  const blocked = new BlockedFiles();
  const walls = (command: string, more: Partial<WallsInput> = {}) =>
    wallsOf({
      ...{ engine: engine!, judge, blocked, command, gate_home, network: "loopback" },
      ...{ roots: [root], strangers: [], user_home: home, session_id: "session", cwd: root },
      ...{ hosts: [], writable: [], blocked_outside: [], port: 47_000 },
      ...more,
    });
  const run = async (
    command: string,
    { walls: more = {}, ...options }: Partial<RunOptions> & { walls?: Partial<WallsInput> } = {},
  ) => {
    const { walls: built } = await walls(command, more);
    const env = { ...process.env, HOME: home, ...options.env };
    return await runCommand(command, {
      ...{ cwd: root, timeout_ms: 20_000, max_output_bytes: 100_000, ...options, env },
      sandbox: built.engine.name === "landlock"
        ? startConfined(built, env, confine)
        : startBehind(built, env),
    });
  };
  return { base, home, root, gate_home, write, walls, run, judge, blocked, compiled, around };
}
