import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must, SUBJECTS, World } from "./world.ts";

describe("the executable alone: empty folder, empty home, no Node, no Deno", () => {
  let world: World;

  beforeAll(async () => {
    world = await World.create("executable", { isBare: true });
  });

  afterAll(() => world.close());

  test("there is nothing else it could run on", () => {
    const tools = readdirSync(world.env["PATH"]!);
    expect(tools).toContain("bash");
    expect(tools).not.toEqual(expect.arrayContaining([expect.stringMatching(/node|deno|bun/)]));
    expect(readdirSync(world.home)).toEqual([]);
  });

  test("says its version and writes nothing", async () => {
    expect(must(await world.run(["--version"])).stdout).toMatch(/^gate \d+\.\d+\.\d+\n$/);
    expect(readdirSync(world.home)).toEqual([]);
  });

  test("shows the whole main road by itself: gate demo", async () => {
    const { stdout } = must(await world.run(["demo"]));
    const shown = ["allowed by policy", "blocked by", "held: ", "approved: ", "of 23,893 bytes"];
    for (const words of [...shown, "the bytes from before are back", "the chain holds"]) {
      expect(stdout).toContain(words);
    }
    expect(readdirSync(world.project)).toEqual([]);
  });

  test("serves the dashboard out of itself", async () => {
    must(await world.run(["daemon", "start"]));
    const page = await fetch(`http://127.0.0.1:${world.port}/`);
    expect(page.headers.get("content-type")).toContain("text/html");
    const html = await page.text();
    const script = html.match(/src="(\/assets\/[^"]+\.js)"/)![1]!;
    const asset = await fetch(`http://127.0.0.1:${world.port}${script}`);
    expect(asset.status).toBe(200);
    expect(asset.headers.get("content-type")).toContain("text/javascript");
  });

  test("keeps its library where only its owner can write", () => {
    const folder = join(world.gateHome, "lib");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(world.gateHome).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.node$/)]);
  });

  test("obeys no file of the folder it is started in", async () => {
    const folder = join(world.folder, "hostile");
    mkdirSync(folder);
    world.write("../hostile/bunfig.toml", 'preload = ["./planted.ts"]\n');
    world.write("../hostile/.env", "GATE_HOME=planted-home\n");
    world.write(
      "../hostile/planted.ts",
      'import { writeFileSync } from "node:fs";writeFileSync("ran", "");',
    );
    must(await world.run(["--version"], { cwd: folder }));
    must(await world.run(["status"], { cwd: folder }));
    expect(existsSync(join(folder, "ran"))).toBe(false);
    expect(existsSync(join(folder, "planted-home"))).toBe(false);
  });

  test("works from wherever it is copied to", async () => {
    const copy = join(world.folder, "copied gate");
    copyFileSync(SUBJECTS.executable[0], copy);
    const { execFileSync } = await import("node:child_process");
    expect(execFileSync(copy, ["--version"], { env: world.env }).toString()).toMatch(/^gate /);
  });
});
