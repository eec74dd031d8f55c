import { afterAll, expect, test } from "vitest";
import { random } from "../interpret/disguise.ts";
import { OptionBench } from "./option_bench.ts";

/** A larger slice: `GATE_FUZZ=5000 GATE_SEED=7`. */
const { GATE_FUZZ, GATE_SEED } = globalThis.process.env;
const COUNT = Number(GATE_FUZZ ?? 150);
const SEED = Number(GATE_SEED ?? Math.floor(Math.random() * 1_000_000));

const bench = new OptionBench();
afterAll(() => bench.close());

test(`allowed options do what is known (GATE_SEED=${SEED}, ${COUNT} commands)`, () => {
  console.log(`option fuzz seed ${SEED}, traced: ${bench.isTraced}`);
  const next = random(SEED);
  const acts = Array.from({ length: COUNT }, () => bench.run(bench.compose(next))).flat();
  expect(acts).toEqual([]);
  expect(bench.ran).toBeGreaterThan(COUNT / 20);
}, 600_000);

test("the bench sees what a command does", () => {
  const seen = (argv: string[]) => bench.act(argv).map(({ did }) => did);
  expect(seen(["cat", ".env"])).toContain("printed the secret");
  expect(seen(["./canary.sh"])).toContain("ran canary.sh");
  expect(seen(["cp", "notes.txt", "guarded/a.txt"])).toContain("changed guarded/a.txt");
  expect(seen(["cat", "notes.txt"])).toEqual([]);
  if (bench.isTraced) {
    expect(seen(["head", "-c", "0", ".env"])).toContain("opened .env");
    expect(seen(["touch", "guarded/new"])).toContain("changed guarded");
  }
});
