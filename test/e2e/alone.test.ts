import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Agent } from "./agent.ts";
import { must, SUBJECTS, World } from "./world.ts";

describe("the executable on a machine without Node, Deno or Bun", () => {
  let world: World;

  beforeAll(async () => {
    world = await World.create("executable", { isBare: true, proof: "none" });
  });

  afterAll(() => world.close());

  test("PATH holds no JavaScript runtime, and the home is empty", () => {
    const tools = readdirSync(world.env["PATH"]!);
    expect(tools).toContain("bash");
    expect(tools).not.toEqual(expect.arrayContaining([expect.stringMatching(/node|deno|bun/)]));
    expect(readdirSync(world.home)).toEqual([]);
  });

  test("--version prints the version and writes nothing", async () => {
    expect(must(await world.run(["--version"])).stdout).toMatch(/^gate \d+\.\d+\.\d+\n$/);
    expect(readdirSync(world.home)).toEqual([]);
  });

  test("gate demo runs and leaves no file in the project", async () => {
    const { stdout } = must(await world.run(["demo"]));
    const shown = [
      "allowed by the policy",
      "blocked by",
      "held: ",
      "approved: ",
      "of 23,893 bytes",
    ];
    for (
      const words of [...shown, "the file has its old content again", "the hash chain is intact"]
    ) {
      expect(stdout).toContain(words);
    }
    expect(readdirSync(world.project)).toEqual([]);
  });

  test("the daemon serves the dashboard from the executable", async () => {
    must(await world.run(["daemon", "start"]));
    const page = await fetch(`http://127.0.0.1:${world.port}/`);
    expect(page.headers.get("content-type")).toContain("text/html");
    const html = await page.text();
    const script = html.match(/src="(\/assets\/[^"]+\.js)"/)![1]!;
    const asset = await fetch(`http://127.0.0.1:${world.port}${script}`);
    expect(asset.status).toBe(200);
    expect(asset.headers.get("content-type")).toContain("text/javascript");
  });

  test("an agent writes a file and runs a command", async () => {
    await world.init();
    const agent = await Agent.connect(world);
    const wrote = await agent.call("write_file", { path: "src/a.txt", content: "a\n" });
    expect(wrote.data).toMatchObject({ status: "approved", execution: "succeeded" });
    const ran = await agent.call("run_command", { command: "echo it runs" });
    expect(ran.data).toMatchObject({ status: "approved", execution: "succeeded", exit_code: 0 });
    expect(ran.text).toContain("it runs");
    await agent.close();
  });

  test("a link named scenario-tool runs the scenario tool", () => {
    const tool = join(world.folder, "scenario-tool");
    symlinkSync(SUBJECTS.executable[0], tool);
    const printed = execFileSync(tool, ["run", "--output", "json"], {
      env: world.env,
      cwd: world.project,
    }).toString();
    expect(JSON.parse(printed)).toMatchObject({ scenarios: [], executions: [], exit_code: 0 });
  });

  test("only the owner can write to the folder of the unpacked library", () => {
    const folder = join(world.gateHome, "lib");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(world.gateHome).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.node$/)]);
  });

  test("bunfig.toml and .env in the current folder have no effect", async () => {
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

  test("a copy in another folder works", () => {
    const copy = join(world.folder, "copied gate");
    copyFileSync(SUBJECTS.executable[0], copy);
    expect(execFileSync(copy, ["--version"], { env: world.env }).toString()).toMatch(/^gate /);
  });
});
