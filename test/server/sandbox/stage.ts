import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { compilePolicy } from "../../../server/policy/evaluate.ts";
import type { Surroundings } from "../../../server/policy/evaluate.ts";
import type { Policies } from "../../../server/policy/schema.ts";
import { runCommand, type RunOptions } from "../../../server/runtime/spawn.ts";
import { startBehind } from "../../../server/sandbox/bubblewrap.ts";
import { findEngine } from "../../../server/sandbox/engine.ts";
import { BlockedFiles } from "../../../server/sandbox/find_blocked.ts";
import { judgeOf } from "../../../server/sandbox/judge.ts";
import { type WallsInput, wallsOf } from "../../../server/sandbox/walls.ts";
import { createTempFolder } from "../../temp_folder.ts";

/** The engine of this machine; without one, the tests of running commands say so and are left out. */
export const ENGINE = await findEngine();
if (ENGINE === null) {
  console.error("NOT RUN: no sandbox engine here, so no command was tried in a sandbox");
}

/** A machine of folders: a home, gate's data and a project in it. */
export function createStage(
  files: Record<string, string> = {},
  policies: Policies = { blockedPaths: [".env", "*.pem", "**/secrets/**"], askPaths: ["kept/**"] },
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
      ...{ engine: ENGINE!, judge, blocked, command, gate_home, network: "loopback" },
      ...{ roots: [root], strangers: [], user_home: home, session_id: "session", cwd: root },
      ...{ hosts: [], writable: [], blocked_outside: [] },
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
      sandbox: startBehind(built, env),
    });
  };
  return { base, home, root, gate_home, write, walls, run, judge, blocked, compiled, around };
}
