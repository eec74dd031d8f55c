import { createHash } from "node:crypto";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

const PERSON = { id: "reviewer", scope: "reviewer" } as const;

function makeFolder(name = "project", config: string | null = '{"id": "other"}'): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gate-roots-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const folder = join(base, name);
  mkdirSync(folder);
  if (config !== null) writeFileSync(join(folder, "gate.config.json"), config);
  return folder;
}

function makeRepository(folder: string, origin?: string): void {
  const remote = origin ? `[remote "origin"]\n\turl = ${origin}\n\tfetch = +refs\n` : "";
  mkdirSync(join(folder, ".git"));
  writeFileSync(join(folder, ".git", "config"), `[core]\n\tbare = false\n${remote}`);
}

test("a folder with a config is a project; registering it again changes nothing", async () => {
  const { daemon } = await createTestGate();
  const folder = makeFolder();
  const expected = {
    id: "other",
    name: "project",
    roots: [folder],
    pending_count: 0,
    last_activity_at: null,
    reachable: true,
    unread: false,
    workspace_ids: [],
    warnings: [],
  };
  expect(await daemon.projects.register(folder, PERSON)).toEqual(expected);
  expect(await daemon.projects.register(folder, PERSON)).toEqual(expected);
  expect((await daemon.projects.list()).map(({ id }) => id)).toEqual(["other", "test"]);
});

test("a folder reached through a link is the folder itself", async () => {
  const { daemon } = await createTestGate();
  const folder = makeFolder();
  symlinkSync(folder, `${folder}-link`);
  expect((await daemon.projects.register(`${folder}-link`, PERSON)).roots).toEqual([folder]);
});

test("without an id it is the folder's name and 8 hex digits of its path, with a warning", async () => {
  const gate = await createTestGate();
  const folder = makeFolder("my täg!", "{}");
  const hash = createHash("sha256").update(folder).digest("hex").slice(0, 8);
  const { id } = await gate.daemon.projects.register(folder, PERSON);
  expect(id).toBe(`my-t-g-${hash}`);
  expect(gate.logs).toMatchObject([{ level: "warn", message: expect.stringContaining(id) }]);
  expect((await gate.daemon.projects.get(id)).id).toBe(id);
});

test.each([
  ["no config", null, 404, "gate init"],
  ["an empty config", "", 400, "the file is empty"],
  ["a broken config", '{\n "id": }', 400, "gate.config.json:2:8"],
  ["an id that is a path", '{"id": "../x"}', 400, "id"],
  ["an id that is too long", JSON.stringify({ id: "x".repeat(65) }), 400, "id"],
  ["an id that is no text", '{"id": 1}', 400, "id"],
  ["no object", "[]", 400, "gate.config.json"],
])("a folder with %s is refused, naming why", async (_name, config, status, message) => {
  const gate = await createTestGate();
  const root = makeFolder("project", config);
  const response = await gate.request("POST", "/api/hub/projects", { root });
  expect(response.status).toBe(status);
  expect((await response.json()).detail).toContain(message);
  expect(await gate.daemon.projects.list()).toHaveLength(1);
});

test.each(["/nowhere/at/all", "relative/nowhere", "a\0b", "\ud800"])(
  "what is no folder is refused: %j",
  async (root) => {
    const gate = await createTestGate();
    const response = await gate.request("POST", "/api/hub/projects", { root });
    expect([400, 404]).toContain(response.status);
  },
);

test("another folder with the same id is a conflict that says what to do", async () => {
  const { daemon } = await createTestGate();
  const [first, second] = [makeFolder(), makeFolder()];
  await daemon.projects.register(first, PERSON);
  await expect(daemon.projects.register(second, PERSON)).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining(first),
  });
  expect((await daemon.projects.list())[0]!.roots).toEqual([first]);
});

test("an id that differs only in case is a conflict: both would share a folder", async () => {
  const { daemon } = await createTestGate();
  await daemon.projects.register(makeFolder(), PERSON);
  await expect(daemon.projects.register(makeFolder("project", '{"id": "Other"}'), PERSON)).rejects
    .toMatchObject({ code: "conflict", message: expect.stringContaining('"other"') });
});

test("a folder that was moved takes the place of the one that is gone", async () => {
  const { daemon } = await createTestGate();
  const first = makeFolder();
  await daemon.projects.register(first, PERSON);
  const second = `${first}-moved`;
  cpSync(first, second, { recursive: true });
  rmSync(first, { recursive: true });
  expect((await daemon.projects.register(second, PERSON)).roots).toEqual([second]);
});

test("a folder that was moved while its project is open is where its config is read", async () => {
  const gate = await createTestGate();
  const moved = `${gate.root}-moved`;
  cpSync(gate.root, moved, { recursive: true });
  rmSync(gate.root, { recursive: true });
  await gate.daemon.projects.register(moved, PERSON);
  expect(gate.project.roots).toEqual([moved]);
  expect(await gate.project.config.view()).toMatchObject({
    path: join(moved, "gate.config.json"),
    error: null,
  });
});

test("a git worktree is a second root, seen at once by what is open", async () => {
  const { daemon } = await createTestGate();
  const [main, tree] = [makeFolder(), makeFolder()];
  makeRepository(main);
  const own = join(main, ".git", "worktrees", "tree");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "commondir"), "../..\n");
  writeFileSync(join(tree, ".git"), `gitdir: ${own}\n`);
  await daemon.projects.register(main, PERSON);
  const project = await daemon.projects.get("other");
  expect((await daemon.projects.register(tree, PERSON)).roots).toEqual([main, tree]);
  expect(project.roots).toEqual([main, tree]);
});

test.each([
  ["the same origin", "https://example.org/x.git", "https://example.org/x.git", true],
  ["another origin", "https://example.org/x.git", "https://example.org/y.git", false],
  ["no origin at all", undefined, undefined, false],
])("of two clones with %s", async (_name, one, other, isSame) => {
  const { daemon } = await createTestGate();
  const [first, second] = [makeFolder(), makeFolder()];
  makeRepository(first, one);
  makeRepository(second, other);
  await daemon.projects.register(first, PERSON);
  const registering = daemon.projects.register(second, PERSON);
  if (isSame) expect((await registering).roots).toEqual([first, second]);
  else await expect(registering).rejects.toMatchObject({ code: "conflict" });
});

test("a clone of the folder itself is the same project", async () => {
  const { daemon } = await createTestGate();
  const [first, second] = [makeFolder(), makeFolder()];
  makeRepository(first);
  makeRepository(second, first);
  await daemon.projects.register(first, PERSON);
  expect((await daemon.projects.register(second, PERSON)).roots).toEqual([first, second]);
});
