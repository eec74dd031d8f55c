import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test, vi } from "vitest";
import { runCommand, type RunOptions } from "../../../server/runtime/spawn.ts";
import { WaitingSandbox } from "../../../server/runtime/waiting_sandbox.ts";
import { startBehind } from "../../../server/sandbox/bubblewrap.ts";
import type { WallsInput } from "../../../server/sandbox/walls.ts";
import { until } from "../../e2e/world.ts";
import { createStage, ENGINE } from "./stage.ts";

const opened: WaitingSandbox[] = [];
afterEach(() => {
  for (const waiting of opened.splice(0)) waiting.close();
});

/** Commands one after the other, as those of one `gate mcp`. */
function createRuns(files: Record<string, string> = { "home/user/project/.env": "SECRET=1\n" }) {
  const stage = createStage(files);
  const waiting = new WaitingSandbox();
  opened.push(waiting);
  const take = vi.spyOn(waiting, "take");
  const run = async (
    command: string,
    { walls: more = {}, before, ...options }:
      & Partial<RunOptions>
      & { walls?: Partial<WallsInput>; before?: () => void } = {},
  ) => {
    const { walls } = await stage.walls(command, more);
    const env = { ...process.env, HOME: stage.home, ...options.env };
    const at = take.mock.results.length;
    before?.();
    const result = await runCommand(command, {
      ...{
        cwd: walls.cwd,
        timeout_ms: 20_000,
        max_output_bytes: 100_000,
        waiting,
        ...options,
        env,
      },
      sandbox: startBehind(walls, env),
    });
    const taken = take.mock.results[at]?.value as ReturnType<WaitingSandbox["take"]>;
    return {
      ...result,
      hasWaited: taken?.was_built === true,
      wasBegun: taken?.was_built === false,
    };
  };
  /** Runs two commands behind the same walls, so that the sandbox of a third one waits. */
  const warmUp = async (more: Partial<WallsInput> = {}) => {
    for (const _ of [1, 2]) expect((await run("true", { walls: more })).hasWaited).toBe(false);
    await until("a sandbox waits", () => waiting.isReady || undefined);
  };
  /** Waits until the process of the next sandbox is begun. */
  const begin = () => until("a process is begun", () => waiting.hasBegun || undefined);
  return { ...stage, waiting, run, begin, warmUp };
}

/** All that a process can tell about itself, without what differs in every process. */
const ABOUT = "id; pwd; umask; env | sort; cat /proc/self/limits /proc/self/oom_score_adj; nice;" +
  "grep -E 'Sig|Cap|Umask|PPid|Seccomp|NoNew' /proc/self/status; echo $- $0 $$ $PPID $SHLVL;" +
  "ls -l /proc/self/fd | sed 's/.*[0-9] -> //; s/[0-9]//g'; ls -A ~ /dev /tmp; " +
  "cut -d ' ' -f 4- /proc/self/mountinfo | sed 's/ [a-z_]*:[0-9]*//g'";

describe.runIf(ENGINE !== null)("a sandbox that waits", () => {
  test("gives a command everything that a new one gives", async () => {
    const { run, warmUp } = createRuns();
    const built = await run(ABOUT);
    await warmUp();
    const waited = await run(ABOUT);
    expect(waited.hasWaited).toBe(true);
    expect(waited.output).toBe(built.output);
    expect(waited.output).toContain("Seccomp:\t2");
  });

  test("runs every text as it is, with its exit code and both outputs in order", async () => {
    const { run, warmUp } = createRuns();
    const text = `printf '%s|' "it's" "\\$HOME" '\n' 'é'; echo err >&2; echo out; cat; exit 7`;
    await warmUp();
    const { hasWaited, output, exit_code } = await run(text);
    expect(hasWaited).toBe(true);
    expect(output).toBe("it's|$HOME|\n|é|err\nout\n");
    expect(exit_code).toBe(7);
  });

  test("serves one command only", async () => {
    const { run, warmUp } = createRuns();
    await warmUp();
    const both = await Promise.all([run("echo one > ~/kept; cat ~/kept"), run("ls ~/kept")]);
    expect(both.map(({ hasWaited }) => hasWaited)).toEqual([true, false]);
    expect(both[0]!.output).toBe("one\n");
    expect(both[1]!.exit_code).not.toBe(0);
  });

  test.each([
    ["replaced", (path: string) => {
      writeFileSync(`${path}.new`, "SECRET=2\n");
      renameSync(`${path}.new`, path);
    }],
    ["removed and made again", (path: string) => {
      unlinkSync(path);
      writeFileSync(path, "SECRET=2\n");
    }],
  ])("is not used when a hidden file was %s", async (_, change) => {
    const { run, warmUp, root } = createRuns();
    await warmUp();
    change(join(root, ".env"));
    const { hasWaited, output } = await run("cat .env");
    expect(hasWaited).toBe(false);
    expect(output).toBe("cat: .env: Permission denied\n");
  });

  test("is not used when a folder around a hidden file was exchanged", async () => {
    const { run, warmUp, root } = createRuns({ "home/user/project/a/b/.env": "SECRET=1\n" });
    await warmUp();
    renameSync(join(root, "a"), join(root, "old"));
    mkdirSync(join(root, "a/b"), { recursive: true });
    writeFileSync(join(root, "a/b/.env"), "SECRET=2\n");
    rmSync(join(root, "old"), { recursive: true });
    const { hasWaited, output } = await run("cat a/b/.env");
    expect(hasWaited).toBe(false);
    expect(output).toBe("cat: a/b/.env: Permission denied\n");
  });

  test("is not used when the project's folder is another one", async () => {
    const { run, warmUp, root } = createRuns({});
    await warmUp();
    renameSync(root, `${root}.old`);
    mkdirSync(root);
    writeFileSync(join(root, "here"), "");
    const { hasWaited, output } = await run("ls");
    expect(hasWaited).toBe(false);
    expect(output).toBe("here\n");
  });

  test("gives a command in another folder everything that a new one gives there", async () => {
    const { run, warmUp, root } = createRuns({ "home/user/project/it's a $folder/.env": "KEY=1" });
    const cwd = join(root, "it's a $folder");
    const text = `${ABOUT}; cat .env; cd - ; echo "$OLDPWD $PWD"`;
    const built = await run(text, { walls: { cwd } });
    await warmUp();
    const waited = await run(text, { walls: { cwd } });
    expect(waited.hasWaited).toBe(true);
    expect(waited.output).toBe(built.output);
    expect(waited.output).toContain("cat: .env: Permission denied\n");
  });

  test("is not used behind other walls or with other variables", async () => {
    const files = { "home/user/project/.env": "SECRET=1\n", "home/user/project/src/a": "" };
    for (const other of ["file", "network", "variable", "length"] as const) {
      const { run, warmUp, write } = createRuns(files);
      await warmUp();
      if (other === "file") write("home/user/project/src/.env", "SECRET=2\n");
      const { hasWaited } = await run(other === "length" ? `: ${"x".repeat(70_000)}` : "true", {
        walls: {
          ...other === "network" && { network: "all" as const },
        },
        ...other === "variable" && { env: { LANG: "C" } },
      });
      expect(hasWaited, other).toBe(false);
    }
  });

  test("has the process of the next one begun, which serves whatever walls are needed", async () => {
    const { run, begin, root, write } = createRuns({ "home/user/project/src/a": "" });
    write("home/user/project/src/.env", "SECRET=1\n");
    const walls = { cwd: join(root, "src"), network: "none" as const };
    const text = `${ABOUT}; cat .env`;
    const built = await run(text, { walls });
    unlinkSync(join(root, "src/.env"));
    await run("true");
    await begin();
    write("home/user/project/src/.env", "SECRET=2\n");
    const begun = await run(text, { walls });
    expect(begun.wasBegun).toBe(true);
    expect(begun.output).toBe(built.output);
    expect(begun.output).toContain("cat: .env: Permission denied\n");
  });

  test("is begun again when a command with other variables came", async () => {
    const { run, begin } = createRuns();
    await run("true");
    await begin();
    const first = await run("echo $LANG", { env: { LANG: "xx" } });
    await begin();
    const second = await run("echo $LANG", { env: { LANG: "xx" }, walls: { network: "none" } });
    expect([first, second].map(({ wasBegun, output }) => [wasBegun, output]))
      .toEqual([[false, "xx\n"], [true, "xx\n"]]);
  });

  test("runs nothing if its process ends before it has its walls", async () => {
    const { run, begin, root } = createRuns();
    await run("true");
    await begin();
    const { exit_code, output, wasBegun } = await run("touch ran; echo ran", {
      before: () => process.kill(Number(processesIn(root)[0]), "SIGKILL"),
    });
    expect({ exit_code, output, wasBegun }).toEqual({
      exit_code: null,
      output: "",
      wasBegun: true,
    });
    expect(readdirSync(root)).not.toContain("ran");
  });

  test("ends when it is closed, and no other one is built", async () => {
    const { run, warmUp, waiting, root } = createRuns();
    await warmUp();
    expect(processesIn(root).length).toBeGreaterThan(0);
    waiting.close();
    await until("its processes end", () => processesIn(root).length === 0 || undefined);
    expect((await run("echo again")).output).toBe("again\n");
    await until("its processes end", () => processesIn(root).length === 0 || undefined);
    expect(waiting.isReady).toBe(false);
  });
});

/** The processes that work in this folder. */
function processesIn(folder: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^[0-9]+$/.test(name) && readlinkSync(`/proc/${name}/cwd`) === folder;
    } catch {
      return false; // it has ended
    }
  });
}
