import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { placesIn } from "../../../server/actions/guarding/places.ts";
import { namedByRepository } from "../../../server/runtime/git_named.ts";
import { Sandboxes } from "../../../server/sandbox/sandboxes.ts";
import { createTestGate } from "../../helpers.ts";
import { createTempFolder } from "../../temp_folder.ts";
import { createStage } from "../sandbox/stage.ts";

const CONFIG = `[core]
	hooksPath = src/hooks ; of the team
	fsmonitor = "./src/watch.sh"
[include]
	path = ../src/git.ini
[includeIf "onbranch:main"]
	path = ../src/absent.ini
[include]
	path = ~/.own.ini
[filter "strip"]
	clean = python3 src/strip.py --keep 'x/y'
[alias]
	go = !src/go.sh
`;
const FILES = {
  ".git/config": CONFIG,
  ".git/HEAD": "ref: refs/heads/main\n",
  ".git/objects/x": "",
  ".git/refs/x": "",
  "src/git.ini": "[include]\n\tpath = deeper.ini\n[core]\n\teditor = src/edit\n",
  "src/deeper.ini": "[include]\n\tpath = git.ini\n",
  "src/hooks/pre-commit": "",
  "src/watch.sh": "",
  "src/strip.py": "",
  "src/go.sh": "",
  "src/edit": "",
};
const NAMED = ["src/git.ini", "src/absent.ini", "src/deeper.ini", "src/watch.sh"]
  .concat("src/strip.py", "src/edit");

test("the settings of a repository name configs, programs and a folder of hooks", () => {
  const root = createTempFolder("git-named");
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { files, folders } = namedByRepository(root);
  expect(files.toSorted()).toEqual(NAMED.map((name) => join(root, name)).toSorted());
  expect(folders).toEqual([join(root, "src/hooks")]);
  const guarded = placesIn(root).map(({ path }) => path);
  expect(guarded).toEqual(expect.arrayContaining([...files, ...folders]));
  writeFileSync(join(root, ".git/config"), "[core]\n\thooksPath = tools\n");
  expect(namedByRepository(root)).toEqual({ files: [], folders: [join(root, "tools")] });
});

test("a person is asked about each write of them, whatever the policy allows", async () => {
  const gate = await createTestGate({
    policies: { allowedPaths: ["src/**"], allowedCommands: ["cp", "sed"] },
    files: FILES,
  });
  const submit = async (tool: string, input: Record<string, string>) => {
    const answer = await gate.request("POST", "/api/actions", { tool, input }, "agent");
    return (await answer.json() as { status: string }).status;
  };
  for (const path of [...NAMED, "src/hooks/pre-commit", "src/hooks/new"]) {
    expect([path, await submit("write_file", { path, content: "x" })]).toEqual([path, "pending"]);
  }
  expect(await submit("run_command", { command: "cp src/go.sh src/hooks/x" })).toBe("pending");
  expect(await submit("run_command", { command: "sed -i s/a/b/ src/git.ini" })).toBe("pending");
  expect(await submit("write_file", { path: "src/go.sh", content: "x" })).toBe("approved");
});

test("a sandbox keeps them as they are, and one that a command made is moved away", async () => {
  const inProject = Object.entries(FILES)
    .map(([name, text]) => [`home/user/project/${name}`, text]);
  const { compiled, around, root, gate_home, write } = createStage(Object.fromEntries(inProject));
  const engine = { name: "bubblewrap" as const, path: "/b", version: "0.8.0", can_mask: true };
  const sandboxes = new Sandboxes(gate_home, () => Promise.resolve(engine), Date.now);
  const nothing = { masked: [], writable: [] };
  const { walls } = await sandboxes.build({
    ...{ session_id: "session", command: "true", cwd: root, action_id: "one" },
    sandbox: { engine: "bubblewrap", network: "loopback", ...nothing },
    opened: { hosts: [], writable: [], readable: [] },
    ...{ compiled, around, projects: [root] },
  });
  const kept = walls.mounts.filter(({ as }) => as === "read_only").map(({ at }) => at);
  const there = [...NAMED, "src/hooks"].filter((name) => name !== "src/absent.ini");
  expect(kept).toEqual(expect.arrayContaining(there.map((name) => join(root, name))));
  write("home/user/project/src/absent.ini", "[core]\n");
  expect((await sandboxes.appeared("one", { compiled, around })).map(({ path }) => path))
    .toEqual([join(root, "src/absent.ini")]);
});
