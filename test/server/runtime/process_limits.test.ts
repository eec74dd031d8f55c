import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { totalsOfMachine, UsageWatch } from "../../../server/runtime/process_limits.ts";

const TOO_MANY = { breach: "It used more than 10 processes", isNear: true };
const CALM = { breach: null, isNear: false };
const PLENTY = 2 ** 40;

describe.runIf(process.platform === "linux")("looking at the processes of a command", () => {
  test("each look counts while more threads than allowed are new on the machine", async () => {
    const pid = await startSleepers(12);
    const { watch, totals } = watchOf(pid, { processes: 10, memory_bytes: PLENTY });
    totals.tasks += 1;
    expect(watch.look()).toEqual(CALM);
    totals.tasks += 1;
    expect(watch.look()).toEqual(TOO_MANY);
    totals.tasks -= 2;
    expect(watch.look()).toEqual(TOO_MANY);
  });

  test("a second passes at most between two looks at each process", async () => {
    const pid = await startSleepers(12);
    const { watch, clock } = watchOf(pid, { processes: 10, memory_bytes: PLENTY });
    clock.now += 999;
    expect(watch.look()).toEqual(CALM);
    clock.now += 1;
    expect(watch.look()).toEqual(TOO_MANY);
  });

  test("the memory of the machine's programs may be that of the command", async () => {
    const pid = await startSleepers(1);
    const { watch, totals } = watchOf(pid, { processes: 100, memory_bytes: 1_000 });
    totals.memory_bytes = 1_000;
    expect(watch.look()).toEqual(CALM);
    totals.memory_bytes = 1_001;
    expect(watch.look().breach).toBe("It used more than 0 MiB of memory");
  });

  test.each([{ tasks: Infinity, memory_bytes: 0 }, { tasks: 5, memory_bytes: Infinity }])(
    "each look counts where the kernel tells no totals: %j",
    async (untold) => {
      const pid = await startSleepers(12);
      const limits = { processes: 10, memory_bytes: PLENTY };
      const watch = new UsageWatch(pid, limits, { totals: () => untold, now: () => 0 });
      expect(watch.look()).toEqual(TOO_MANY);
    },
  );

  test("the totals are upper bounds of what a program uses", () => {
    const held = new Uint8Array(64 * 1024 ** 2).fill(1);
    const { tasks, memory_bytes } = totalsOfMachine();
    const status = readFileSync("/proc/self/status", "utf8");
    expect(tasks).toBeGreaterThanOrEqual(Number(/^Threads:\s+(\d+)/m.exec(status)![1]));
    expect(tasks).toBeLessThan(Infinity);
    expect(memory_bytes).toBeGreaterThan(held.byteLength);
    expect(memory_bytes).toBeLessThan(Infinity);
  });
});

function watchOf(pid: number, limits: { processes: number; memory_bytes: number }) {
  const totals = { tasks: 100, memory_bytes: 0 };
  const clock = { now: 0 };
  const options = { totals: () => ({ ...totals }), now: () => clock.now };
  return { totals, clock, watch: new UsageWatch(pid, limits, options) };
}

/** Starts a shell with so many children; resolves once all of them run. */
async function startSleepers(many: number): Promise<number> {
  const start = `for i in $(seq ${many}); do sleep 60 & done; echo started; wait`;
  const child = spawn("/bin/sh", ["-c", start], {
    detached: true,
    stdio: ["ignore", "pipe", null],
  });
  onTestFinished(() => void process.kill(-child.pid!, "SIGKILL"));
  await new Promise((resolve) => child.stdout!.once("data", resolve));
  return child.pid!;
}
