import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { runCommand } from "../../../server/runtime/spawn.ts";
import { startBehind } from "../../../server/sandbox/bubblewrap.ts";
import { startConfined } from "../../../server/sandbox/landlock.ts";
import type { SandboxLimits, Walls } from "../../../server/sandbox/schema.ts";
import { CONFINE, LANDLOCK } from "./landlock_stage.ts";
import { createStage, ENGINE } from "./stage.ts";

/** The number of the call that ends one thread. */
const EXIT = process.arch === "arm64" ? 93 : 60;

async function runWithin(
  command: string,
  limits: Partial<SandboxLimits>,
  { engine = ENGINE, ...options }: {
    timeout_ms?: number;
    max_output_bytes?: number;
    engine?: typeof ENGINE;
  } = {},
) {
  const { walls, root } = createStage({}, undefined, { engine });
  const built = (await walls(command)).walls;
  const result = await runCommand(command, {
    ...{ cwd: root, timeout_ms: 30_000, max_output_bytes: 10_000, ...options },
    sandbox: start({ ...built, limits: { ...built.limits, ...limits } }),
  });
  return { ...result, root };
}

function start(walls: Walls) {
  return walls.engine.name === "landlock"
    ? startConfined(walls, {}, CONFINE)
    : startBehind(walls, {});
}

/** The processes of the machine with this text in their arguments. */
function countOf(text: string): number {
  return execFileSync("ps", ["-eo", "args"]).toString().split("\n")
    .filter((line) => line.includes(text)).length;
}

describe.runIf(ENGINE !== null)("the limits of a command in the sandbox", () => {
  test("a fork bomb ends, with all that it started", async () => {
    const mark = `bomb${Date.now()}`;
    // It stops by itself at 2,047 processes, so that a failure does not end the machine's tests.
    const two = `${mark} $(($1 - 1)) &`;
    const bomb = `${mark}() { [ $1 -gt 0 ] && { ${two} ${two} }; sleep 60; }; ${mark} 10`;
    const { exit_code, error, output, duration_ms } = await runWithin(bomb, { processes: 200 });
    // The kernel refuses forks to every user but root, whom gate stops.
    if (error === undefined) expect(output).toMatch(/Resource temporarily unavailable|fork/);
    else expect({ exit_code, error }).toEqual({ exit_code: null, error: TOO_MANY });
    expect(duration_ms).toBeLessThan(30_000);
    await expect.poll(() => countOf(mark), { timeout: 10_000 }).toBe(0);
  });

  test("memory of many processes together is bounded", async () => {
    const eats = "python3 -c 'x = bytearray(120_000_000); import time; time.sleep(20)'";
    const command = `for i in 1 2 3 4; do ${eats} & done; wait`;
    const { error } = await runWithin(command, { memory_bytes: 300 * 1024 ** 2 });
    expect(error).toBe("It used more than 300 MiB of memory: it was stopped");
  });

  test("memory of a process whose first thread has ended is bounded", async () => {
    const eats = `import ctypes, threading, time
def go_on():
    time.sleep(0.5)
    x = bytearray(120_000_000)
    time.sleep(20)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).syscall(${EXIT}, 0)`;
    const command = `for i in 1 2 3 4; do python3 -c '${eats}' & done; sleep 20`;
    const { error } = await runWithin(command, { memory_bytes: 300 * 1024 ** 2 });
    expect(error).toBe("It used more than 300 MiB of memory: it was stopped");
  });

  test("memory of one process is bounded by the kernel", async () => {
    const { output, exit_code } = await runWithin("python3 -c 'bytearray(900_000_000)'", {
      memory_bytes: 300 * 1024 ** 2,
    });
    expect(output).toContain("MemoryError");
    expect(exit_code).not.toBe(0);
  });

  test("a file grows no further than its limit", async () => {
    const { root, exit_code } = await runWithin("head -c 5000000 /dev/zero > big", {
      file_bytes: 1024 * 1024,
    });
    expect(exit_code).not.toBe(0);
    expect(statSync(join(root, "big")).size).toBe(1024 * 1024);
  });

  test("output and time are bounded as outside", async () => {
    const { truncated, error, output } = await runWithin("yes", {}, {
      timeout_ms: 700,
      max_output_bytes: 1_000,
    });
    expect(truncated).toBe(true);
    expect(output.length).toBeLessThanOrEqual(1_000);
    expect(error).toMatch(/^Timed out/);
    await expect.poll(() => countOf("yes\n")).toBe(0);
  });

  test("an abort ends everything", async () => {
    const { walls, root } = createStage();
    const built = (await walls("true")).walls;
    const stop = new AbortController();
    const mark = `7${Date.now() % 100_000}`;
    const running = runCommand(`(setsid sleep ${mark} &) ; sleep ${mark}`, {
      ...{ cwd: root, timeout_ms: 30_000, max_output_bytes: 100, signal: stop.signal },
      sandbox: startBehind(built, {}),
    });
    await expect.poll(() => countOf(`sleep ${mark}`)).toBeGreaterThan(1);
    stop.abort();
    expect((await running).error).toMatch(/^Stopped/);
    await expect.poll(() => countOf(`sleep ${mark}`)).toBe(0);
  });
});

const TOO_MANY = "It used more than 200 processes: it was stopped";

test.runIf(LANDLOCK !== null)(
  "under Landlock processes without a parent are bounded too",
  async () => {
    const command = "for i in $(seq 60); do (sleep 20 &); done; sleep 20";
    const { error } = await runWithin(command, { processes: 40 }, { engine: LANDLOCK });
    expect(error).toBe("It used more than 40 processes: it was stopped");
  },
);
