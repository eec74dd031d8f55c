import { afterAll, expect, test } from "vitest";
import { evaluateCommand } from "../score.ts";
import { disguise, random } from "./disguise.ts";
import { isForbidden, Oracle } from "./oracle.ts";

/** A larger slice: `GATE_FUZZ=20000 GATE_SEED=7`. */
const { GATE_FUZZ, GATE_SEED } = globalThis.process.env;
const COUNT = Number(GATE_FUZZ ?? 400);
const SEED = Number(GATE_SEED ?? Math.floor(Math.random() * 1_000_000));

const oracle = new Oracle();
afterAll(() => oracle.close());

test(`what bash really runs is stopped (GATE_SEED=${SEED}, ${COUNT} commands)`, () => {
  console.log(`fuzz seed ${SEED}`);
  const next = random(SEED);
  const missed: string[] = [];
  for (let at = 0; at < COUNT; at++) {
    const command = disguise(next);
    // Nothing outside the box is named, so that a mutation cannot reach it.
    if (/[/~]/.test(command) || evaluateCommand(command).decision.effect !== "allow") continue;
    if (oracle.run(command).some(isForbidden)) missed.push(command);
  }
  expect(missed).toEqual([]);
}, 600_000);

test("the oracle sees the forbidden and nothing else", () => {
  expect(oracle.run("rm -rf x; git status").map(isForbidden)).toEqual([true, false]);
  expect(oracle.run("echo rm -rf x")).toEqual([]);
  expect(oracle.run("sh -c 'git push -f'").map(isForbidden)).toEqual([true]);
});
