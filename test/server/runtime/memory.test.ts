import { expect, test } from "vitest";
import { IdleMemory, releaseMemory } from "../../../server/runtime/memory.ts";

/** A clock that is turned by hand, and how often memory was given back. */
function setUp() {
  const world = { now: 0, released: 0 };
  const due: { at: number; call: () => void }[] = [];
  const memory = new IdleMemory({
    release: () => world.released++,
    now: () => world.now,
    later: (call, ms) => due.push({ at: world.now + ms, call }),
  });
  const pass = (ms: number) => {
    world.now += ms;
    for (const { call } of due.filter(({ at }) => at <= world.now).splice(0)) call();
    due.splice(0, due.length, ...due.filter(({ at }) => at > world.now));
  };
  const note = (times: number) => {
    for (let n = 0; n < times; n++) memory.note();
  };
  return { world, due, pass, note };
}

/** The same after the memory of the start has been given back. */
function setUpStarted() {
  const set = setUp();
  set.note(1);
  set.pass(20_000);
  set.world.released = 0;
  return set;
}

test("the memory of the start is given back in the first pause after a request", () => {
  const { world, due, pass, note } = setUp();
  pass(60_000);
  expect(world.released).toBe(0);
  note(1);
  pass(15_000);
  note(1);
  pass(15_000);
  expect(world.released).toBe(0);
  pass(5_000);
  expect(world.released).toBe(1);
  expect(due).toEqual([]);
});

test("after a few requests nothing is given back, nor even waited for", () => {
  const { world, due, pass, note } = setUpStarted();
  note(49);
  expect(due).toEqual([]);
  pass(60_000);
  expect(world.released).toBe(0);
});

test("after many it is given back once, in the first pause", () => {
  const { world, due, pass, note } = setUpStarted();
  note(50);
  for (let turn = 0; turn < 20; turn++) {
    pass(15_000);
    note(10);
  }
  expect(world.released).toBe(0);
  pass(20_000);
  expect(world.released).toBe(1);
  expect(due).toEqual([]);
  note(49);
  pass(60_000);
  expect(world.released).toBe(1);
  note(1);
  pass(20_000);
  expect(world.released).toBe(2);
});

test("this runtime can be asked to collect", () => {
  expect(() => releaseMemory()).not.toThrow();
});
