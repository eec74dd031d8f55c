import { afterAll, beforeAll, expect, test } from "vitest";
import { World } from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await World.create("executable");
});

afterAll(() => world.close());

/** The program starts some two hundred times. */
const DEADLINE_MS = 300_000;

test("every gate command passes the scenarios generated from its help", async () => {
  const [program] = world.command([]);
  const argv = ["--target", "cli", "--from-help", program!, "--depth", "normal"];
  const { code, stdout } = await world.run(["scenario", "run", ...argv, "--output", "json"]);
  const { scenarios, executions, summary } = JSON.parse(stdout);
  const failed = executions.flatMap((one: { status: string; reason: string }, n: number) =>
    one.status === "failed" ? [`${scenarios[n].exec.command.join(" ")}: ${one.reason}`] : []
  );
  expect({ code, failed }).toEqual({ code: 0, failed: [] });
  expect(summary.executed).toBeGreaterThan(150);
  expect(summary.coverage.operations).toBeGreaterThan(20);
}, DEADLINE_MS);

test("every gate scenario command passes the scenarios generated from its help", async () => {
  const [program] = world.command([]);
  const argv = ["--target", "cli", "--from-help", `${program} scenario`, "--depth", "normal"];
  const { code, stdout } = await world.run(["scenario", "run", ...argv, "--output", "json"]);
  expect({ code, failed: JSON.parse(stdout).summary.failed }).toEqual({ code: 0, failed: 0 });
}, DEADLINE_MS);
