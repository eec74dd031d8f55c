import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SPEAK } from "../server/hooks/stage.ts";
import { type Ended, must, World } from "./world.ts";

/** A host may use any of these shells for the command line of a hook. */
const SHELLS = ["sh", "bash", "dash", "zsh", "fish"];

describe.skipIf(process.platform === "win32")("the command line of an installed hook", () => {
  let world: World;
  let line: string;
  let report: string;

  beforeAll(async () => {
    world = await World.create("executable");
    await world.init();
    mkdirSync(join(world.home, ".codex"));
    must(await world.run(["global-setup", "--enforce", "--host", "codex"]));
    const { hooks } = JSON.parse(readFileSync(join(world.home, ".codex/hooks.json"), "utf8"));
    line = hooks.PreToolUse[0].hooks[0].command;
    report = hooks.PostToolUse[0].hooks[0].command;
  });
  afterAll(() => world.close());

  const { before, after, command } = SPEAK["codex"]!;
  const call = (text: string, cwd = world.project) =>
    JSON.stringify(before(command, { command: text }, { cwd, key: text }));

  const runIn = (shell: string, text: string, input: string, start = 'exec "$@"') =>
    new Promise<Ended>((resolve, reject) => {
      const child = spawn("sh", ["-c", start, "sh", shell, "-c", text], {
        cwd: world.project,
        env: world.env,
      });
      const output = { stdout: "", stderr: "" };
      child.stdout.on("data", (chunk) => output.stdout += chunk);
      child.stderr.on("data", (chunk) => output.stderr += chunk);
      child.on("error", reject);
      child.on("close", (code) => resolve({ code, ...output }));
      child.stdin.on("error", () => {}); // the line may end without reading it
      child.stdin.end(input);
    });

  describe.each(SHELLS)("in %s", (shell) => {
    const isThere = isInstalled(shell);

    test.skipIf(!isThere)("is answered by gate", async () => {
      expect(await runIn(shell, line, call("echo hi"))).toEqual({
        code: 0,
        stdout: "{}\n",
        stderr: "",
      });
    });

    test.skipIf(!isThere)("is answered in a folder that was deleted", async () => {
      const gone = join(world.project, "gone");
      const leave = `mkdir '${gone}' && cd '${gone}' && rmdir '${gone}' && exec "$@"`;
      const allowed = await runIn(shell, line, call("echo hi", gone), leave);
      expect(allowed).toMatchObject({ code: 0, stdout: "{}\n" });
      const end = after(command, { command: "echo hi" }, { cwd: gone, key: "echo hi" });
      await runIn(shell, report, JSON.stringify(end), leave);
      const { items } = (await world.api("GET", "/api/actions?limit=1")).body;
      expect(items).toMatchObject([{ command: "echo hi", execution: "succeeded" }]);
      const denied = await runIn(shell, line, call("cat .env", gone), leave);
      expect(denied.code).toBe(0);
      expect(SPEAK["codex"]!.reason(JSON.parse(denied.stdout))).toContain("Blocked by gate: ");
    });

    test.skipIf(!isThere)("blocks, and says how to go on, if gate was deleted", async () => {
      const program = join(world.folder, "deleted", "gate");
      const ended = await runIn(shell, line.replace(programOf(line), program), call("echo hi"));
      expect(ended).toMatchObject({ code: 2, stdout: "" });
      expect(ended.stderr).toContain(`Blocked by gate: its hook failed: ${program} hook codex. `);
      expect(ended.stderr).toContain("Install gate there again, or remove this hook from");
    });

    test.skipIf(!isThere)("blocks if gate is killed, or ends with a code of its own", async () => {
      const program = join(world.folder, "gate");
      for (const death of ["kill -9 $$", "kill -ILL $$", "exit 1", "exit 3"]) {
        writeFileSync(program, `#!/bin/sh\n${death}\n`);
        chmodSync(program, 0o755);
        const ended = await runIn(shell, line.replace(programOf(line), program), call("echo hi"));
        expect({ death, code: ended.code }).toEqual({ death, code: 2 });
        expect(ended.stderr).toContain("Blocked by gate: its hook failed");
      }
    });
  });

  test.skipIf(!existsSync("/dev/full"))("gives gate's own reason alone", async () => {
    const ended = await runIn("sh", `${line} >/dev/full`, call("echo hi"));
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain("Blocked by gate: ");
    expect(ended.stderr).not.toContain("its hook failed");
  });
});

/** The path of gate in a command line of its hook. */
function programOf(line: string): string {
  return /(\S+) hook codex$/.exec(line)![1]!;
}

function isInstalled(shell: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${shell}`]);
    return true;
  } catch {
    return false;
  }
}
