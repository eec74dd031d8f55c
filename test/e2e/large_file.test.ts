import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  createReadStream,
  existsSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import { type Subject, World } from "./world.ts";

const MIB = 1024 * 1024;
const SIZE = 100_000_000;
const POLICIES = { defaultEffect: "allow", maxBlobBytes: 200 * MIB };

const SUBJECT = (process.env["GATE_TEST_SUBJECT"] ?? "executable") as Subject;

describe.runIf(existsSync("/proc/self/status"))(`a file of 100 MB, on ${SUBJECT}`, () => {
  let world: World;
  afterAll(() => world?.close());

  test("is overwritten and deleted, and restored both times, within 64 MiB of memory", async () => {
    world = await World.create(SUBJECT);
    await world.init(POLICIES);
    const path = join(world.project, "large.bin");
    fill(path);
    const before = await hashOf(path);
    const pid = await world.daemonPid();
    // The first write and rollback load code; the test measures only what a large file adds.
    const small = await submit("write_file", { path: "small.txt", content: "x" });
    await world.api("POST", `/api/actions/${small.id}/rollback`);
    const idle = memory(pid, "VmRSS");

    const written = await submit("write_file", { path: "large.bin", content: "small\n" });
    expect(written).toMatchObject({ execution: "succeeded", reversible: true });
    const back = await world.api("POST", `/api/actions/${written.id}/rollback`);
    expect([back.status, await hashOf(path)]).toEqual([200, before]);
    const deleted = await submit("delete_file", { path: "large.bin" });
    expect(existsSync(path)).toBe(false);
    const again = await world.api("POST", `/api/actions/${deleted.id}/rollback`);
    expect([again.status, await hashOf(path)]).toEqual([200, before]);

    const peak = memory(pid, "VmHWM");
    const more = (peak - idle) / MIB;
    console.log(
      `daemon: ${(idle / MIB).toFixed(1)} MiB idle, peak ${(peak / MIB).toFixed(1)} MiB, ` +
        `${more.toFixed(1)} MiB more for ${SIZE} bytes`,
    );
    expect(more).toBeLessThanOrEqual(64);
  }, 240_000);

  async function submit(tool: string, input: Record<string, unknown>) {
    const { status, body } = await world.api("POST", "/api/actions", { tool, input }, "agent");
    expect([status, body.detail]).toEqual([201, undefined]);
    return body;
  }
});

function fill(path: string): void {
  const fd = openSync(path, "w");
  for (let left = SIZE; left > 0;) {
    left -= writeSync(fd, randomBytes(Math.min(left, 4 * MIB)));
  }
  closeSync(fd);
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

function memory(pid: number, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, "m")
    .exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(found![1]) * 1024;
}
