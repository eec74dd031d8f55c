import { expect, onTestFinished, test } from "vitest";
import { EventListener } from "./event_listener.ts";
import { until, World } from "./world.ts";

const WRITES = 2_550;
const AT_ONCE = 8;
const EVENTS = 10_000;

/** Writes `count` files. Repeats each request until the daemon answers. */
async function write(world: World, count: number, from: number): Promise<void> {
  let next = from;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < from + count) {
      const input = { path: `src/f${next++}.txt`, content: "x" };
      await until("the daemon answers", async () => {
        const answer = await world.api(
          "POST",
          "/api/actions",
          { tool: "write_file", input },
          "agent",
        )
          .catch(() => null);
        return answer?.status === 201;
      });
    }
  }));
}

async function exportedEvents(world: World): Promise<string[]> {
  const { body } = await world.api("GET", "/api/audit/export?project=demo", undefined, "viewer");
  return body.events.filter(({ type }: { type: string }) => type.startsWith("action."))
    .map(({ seq }: { seq: number }) => `demo:${seq}`);
}

test(
  "a listener misses none of 10,000 events across a kill and a restart of the daemon",
  async () => {
    const world = await World.create("executable");
    onTestFinished(() => world.close());
    await world.init();
    const present = await EventListener.open(world);
    onTestFinished(() => present.close());
    const begin = await until("the listener has a cursor", () => present.last);
    const parts = Math.floor(WRITES / 3);
    await write(world, parts, 0);
    const writing = write(world, parts, parts);
    await world.kill(await world.daemonPid());
    await world.run(["daemon", "start"]);
    await writing;
    const more = write(world, WRITES - 2 * parts, 2 * parts);
    await world.run(["daemon", "restart"]);
    await more;

    const all = await exportedEvents(world);
    expect(all.length).toBeGreaterThanOrEqual(EVENTS);
    const missed = (listener: EventListener) => all.filter((event) => !listener.heard.has(event));
    await until(
      "the connected listener has every event",
      () => missed(present).length === 0,
      60_000,
    );
    expect(present.cuts).toBeGreaterThanOrEqual(2);

    // This listener was disconnected all the time and has only the first cursor.
    const absent = await EventListener.open(world, begin);
    onTestFinished(() => absent.close());
    await until("the late listener has every event", () => missed(absent).length === 0, 60_000);
    expect(absent.cuts).toBe(0);
  },
  300_000,
);
