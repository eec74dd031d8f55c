import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must, type World } from "../e2e/world.ts";
import { createHostWorld } from "./host_world.ts";
import { OTHER_HOSTS } from "./other_hosts.ts";
import { startOtherModel } from "./other_models.ts";
import type { ScriptedCall } from "./scripted_model.ts";

/** Hosts with gate's hooks for their own tools, offline against a scripted model. */
describe.each(OTHER_HOSTS)("$id with gate's hooks", (host) => {
  const { id, program, args, prepare, run, write } = host;
  let world: World;
  let hooks: string;

  beforeAll(async () => {
    world = await createHostWorld();
    mkdirSync(join(world.home, host.folder));
    await world.init({
      defaultEffect: "ask",
      allowedPaths: ["src/**"],
      blockedPaths: [{ pattern: "secrets/**", reason: "secrets stay with people" }],
      allowedCommands: ["echo", "apply_patch"],
      blockedCommands: [{ pattern: "touch", reason: "write files another way" }],
    });
    world.write("src/old.txt", "old\n");
    const made = await world.json(["global-setup", "--enforce", "--host", id, "--json"]);
    hooks = made.hooks[0].file;
  });
  afterAll(() => world.close());

  /** Runs one session. The host allows everything, so only gate refuses. */
  const session = async (calls: ScriptedCall[]) => {
    const model = await startOtherModel(host.protocol, calls);
    const env = prepare(world, model);
    const child = spawn(program, args, {
      cwd: world.project,
      env: { ...world.env, ...env },
      stdio: ["ignore", "ignore", "ignore"],
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    model.close();
    expect(code).toBe(0);
    return model.results;
  };
  const isThere = (name: string) => existsSync(join(world.project, name));

  test("gate blocks its shell and edits, and records allowed calls", async () => {
    const [touched, wrote, ran] = await session([
      run("touch made"),
      write(join(world.project, "secrets/key.txt"), "S=1"),
      run("echo allowed"),
      write(join(world.project, "src/new.txt"), "new"),
    ]);
    expect(touched).toContain("Blocked by gate: write files another way");
    expect(wrote).toContain("Blocked by gate: secrets stay with people");
    expect(ran).toContain("allowed");
    expect(["made", "secrets/key.txt", "src/new.txt"].map(isThere)).toEqual([false, false, true]);
    const { items } = (await world.api("GET", "/api/actions")).body;
    expect(items).toMatchObject([
      // Codex may apply a patch in a command without reporting it, so the test reads the file.
      { agent: id, status: "approved", path: "src/new.txt", reversible: true },
      { agent: id, status: "approved", execution: "succeeded", command: "echo allowed" },
      { agent: id, status: "blocked", path: "secrets/key.txt" },
      { agent: id, status: "blocked", command: "touch made" },
    ]);
    must(await world.run(["rollback", items[0].id]));
    expect(isThere("src/new.txt")).toBe(false);
  });

  test("a call is refused before the host stops waiting if the daemon hangs", async () => {
    const call = run("echo hung > src/hung.txt");
    const [refused] = await world.whileFrozen(() => session([call]));
    expect(refused).toContain("Blocked by gate: the daemon does not answer");
    expect(isThere("src/hung.txt")).toBe(false);
    await session([call]);
    expect(isThere("src/hung.txt")).toBe(true);
  });

  test("the hook starts a stopped daemon, and refuses the call if it cannot", async () => {
    must(await world.run(["daemon", "stop"]));
    await session([run("echo back > src/back.txt")]);
    expect(isThere("src/back.txt")).toBe(true);
    must(await world.run(["daemon", "stop"]));
    const text = readFileSync(hooks, "utf8");
    writeFileSync(hooks, text.replaceAll("GATE_PORT=", "GATE_HOME=/dev/null GATE_PORT="));
    const [refused] = await session([run("echo gone > src/gone.txt")]);
    expect(refused).toContain("Blocked by gate");
    expect(isThere("src/gone.txt")).toBe(false);
    writeFileSync(hooks, text);
  });

  test("a call is refused if gate was deleted, and the agent learns the way out", async () => {
    const text = readFileSync(hooks, "utf8");
    writeFileSync(hooks, text.replaceAll(/\S+( hook [\w-]+")/g, "/gone/gate$1"));
    const [refused] = await session([run("echo deleted > src/deleted.txt")]);
    expect(isThere("src/deleted.txt")).toBe(false);
    // Copilot CLI shows its agent only the exit code.
    const shown = id === "copilot-cli" ? "hook exited with code 2" : "Install gate there again";
    expect(refused).toContain(shown);
    writeFileSync(hooks, text);
  });
});
