import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { must, until, World } from "../../e2e/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.create("Deno" in globalThis ? "deno" : "node", { proof: "none" });
  world.env["TMPDIR"] = join(world.folder, "tmp");
  mkdirSync(world.env["TMPDIR"]);
});
afterEach(() => world.close());

// Deno may also put caches into TMPDIR.
const left = () => readdirSync(world.env["TMPDIR"]!).filter((name) => name.startsWith("gate-"));

test("demo shows a write, a block, a hold, an approval, a capped command and a rollback", async () => {
  const { stdout } = must(await world.run(["demo"]));
  for (
    const line of [
      "allowed by the policy and written to disk",
      'blocked by the project rule ".env"',
      "held: gate show ",
      "approved: gate approve ",
      "the file is written, and the waiting agent gets its result",
      "of 23,893 bytes: the beginning, the end and a note",
      "the file has its old content again",
      "events, the hash chain is intact",
      "removed its files",
    ]
  ) expect(stdout).toContain(line);
  expect(left()).toEqual([]);
  expect(existsSync(world.gateHome)).toBe(false);
});

test("demo --json prints the same scenes as JSON", async () => {
  const { ok, scenes } = await world.json(["demo", "--json"]);
  expect(ok).toBe(true);
  expect(scenes).toHaveLength(6);
});

test("an interrupted demo cleans up after itself", async () => {
  const demo = world.spawn(["demo"]);
  let printed = "";
  demo.stdout!.on("data", (chunk) => printed += chunk);
  await until("the demo starts", () => printed.includes("1. The agent"));
  process.kill(demo.pid!, "SIGINT");
  expect(await once(demo, "exit")).toEqual([1, null]);
  expect(left()).toEqual([]);
});
