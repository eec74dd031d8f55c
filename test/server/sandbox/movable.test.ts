import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SandboxEngine } from "../../../server/environment.ts";
import { Sandboxes } from "../../../server/sandbox/sandboxes.ts";
import { createStage } from "./stage.ts";

/** Nothing runs: the tests change the files as a running command would. */
const ENGINE: SandboxEngine = {
  name: "bubblewrap",
  path: "/usr/bin/bwrap",
  version: "0.8.0",
  can_mask: true,
};
const FILES = { "home/user/project/old/.env": "", "home/user/project/src/main.txt": "" };
const MOVABLE = /a command that still runs can move ".*" while the sandbox is built/;

/** Two commands: the first one runs while `change` is made, and then the second one starts. */
async function twoCommands(change: (stage: ReturnType<typeof createStage>) => void) {
  const stage = createStage(FILES);
  const { compiled, around, root, gate_home } = stage;
  const sandboxes = new Sandboxes(gate_home, () => Promise.resolve(ENGINE), Date.now);
  const order = {
    ...{ session_id: "session", command: "true", cwd: root },
    sandbox: {
      engine: "bubblewrap" as const,
      network: "loopback" as const,
      masked: [],
      writable: [],
    },
    opened: { hosts: [], writable: [], readable: [] },
    ...{ compiled, around, projects: [root] },
  };
  await sandboxes.lanes.behind("first", { action_id: "one", folders: [root], at_most_ms: 60_000 });
  await sandboxes.build({ ...order, action_id: "one" });
  change(stage);
  return { root, sandboxes, order };
}

describe("while a command runs that began before a blocked file was there", () => {
  test.each([
    ["in a new folder", "new/deep/.env"],
    ["in a folder that had none", "src/.env"],
  ])("no sandbox is built that hides the file %s", async (_, path) => {
    const { root, sandboxes, order } = await twoCommands(({ write }) =>
      write(`home/user/project/${path}`, "")
    );
    await expect(sandboxes.build({ ...order, action_id: "two" })).rejects.toThrow(MOVABLE);
    expect(await sandboxes.whyNot(order)).toMatch(MOVABLE);
    sandboxes.lanes.end("one");
    expect((await sandboxes.build({ ...order, action_id: "two" })).walls.mounts.map(({ at }) => at))
      .toContain(join(root, path));
  });

  test.each([
    ["at the top, which nothing can move", ".env"],
    ["in a folder that its sandbox keeps in place", "old/key.pem"],
  ])("the next one is built for a file %s", async (_, path) => {
    const { root, sandboxes, order } = await twoCommands(({ write }) =>
      write(`home/user/project/${path}`, "")
    );
    expect((await sandboxes.build({ ...order, action_id: "two" })).walls.mounts.map(({ at }) => at))
      .toContain(join(root, path));
  });

  test("the next one is built if the file is gone", async () => {
    const { root, sandboxes, order } = await twoCommands(({ write }) =>
      write("home/user/project/new/.env", "")
    );
    rmSync(join(root, "new"), { recursive: true });
    await expect(sandboxes.build({ ...order, action_id: "two" })).resolves.toBeDefined();
  });
});
