import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openHooks, SPEAK } from "./stage.ts";

const FILES = { ".git/config": "[core]\n\tbare = false\n", ".husky/pre-push": "true\n" };

/** A host that runs a command whose text does not show what it does. */
async function openHost(host: string) {
  const { gate, post, actions } = await openHooks(host, {
    policies: { defaultEffect: "allow" },
    files: FILES,
  });
  const speak = SPEAK[host]!;
  const at = (key: string) => ({ cwd: gate.root, key });
  const before = async (command: string, key: string) => {
    const { output } = await post(speak.before(speak.command, { command }, at(key)));
    return speak.reason(output) ?? "allow";
  };
  const after = (command: string, key: string) =>
    post(speak.after(speak.command, { command }, at(key)));
  const attack = () => {
    execFileSync("sh", ["-c", "echo evil > .husky/pre-push; echo evil > .envrc"], {
      cwd: gate.root,
    });
  };
  const types = async () =>
    (await gate.audit()).map(({ type }) => type).filter((type) => /^(guard|block)\./.test(type));
  return { gate, actions, before, after, attack, types };
}

describe.each(Object.keys(SPEAK))("%s", (host) => {
  test("a command that a hook let pass is compared when the host reports it", async () => {
    const { gate, actions, before, after, attack, types } = await openHost(host);
    expect(await before("make build", "k1")).toBe("allow");
    attack();
    await after("make build", "k1");
    expect(readFileSync(join(gate.root, ".husky/pre-push"), "utf8")).toBe("true\n");
    expect(existsSync(join(gate.root, ".envrc"))).toBe(false);
    const [action] = await actions();
    const { restored } = await gate.project.actions.detail(action!.id);
    expect(restored.map(({ change }) => change).toSorted()).toEqual(["created", "modified"]);
    expect(await types()).toEqual(["guard.restored", "block.added"]);
    expect(await before("ls", "k2")).toMatch(
      /^Blocked by gate: gate has blocked this session.*husky/,
    );
  });

  test("a host that reports nothing: its next call finds what the command did", async () => {
    const { gate, before, attack, types } = await openHost(host);
    expect(await before("make build", "k1")).toBe("allow");
    attack();
    expect(await before("ls", "k2")).toMatch(/^Blocked by gate: gate has blocked this session/);
    expect(readFileSync(join(gate.root, ".husky/pre-push"), "utf8")).toBe("true\n");
    expect(await types()).toEqual(["guard.restored", "block.added"]);
  });

  const LOSSES: [string, (file: string) => void, string][] = [
    ["deleted", (file) => rmSync(file), "deleted"],
    ["emptied", (file) => writeFileSync(file, ""), "modified"],
    [
      "rewritten to match what the command did",
      (file) =>
        writeFileSync(file, readFileSync(file, "utf8").replace('"kind":"file"', '"kind":"link"')),
      "modified",
    ],
  ];

  test.each(LOSSES)(
    "a crash, and the kept state was %s: it is told",
    async (_name, harm, change) => {
      const { gate, actions, before, after, attack, types } = await openHost(host);
      expect(await before("make build", "k1")).toBe("allow");
      const folder = join(gate.home, "guarding");
      await gate.reopen(() => {
        for (const name of readdirSync(folder)) harm(join(folder, name));
        attack();
      });
      expect(await types()).toEqual(["guard.restored", "block.added"]);
      const told = (await gate.audit()).find(({ type }) => type === "guard.restored")!;
      const paths = told.data.paths as { path: string; change: string; restored: boolean }[];
      expect(paths.length).toBeGreaterThan(0);
      for (const one of paths) expect(one).toMatchObject({ change, restored: false });
      expect(paths.every(({ path }) => path.startsWith(folder))).toBe(true);
      await after("make build", "k1");
      expect(await before("ls", "k2")).toMatch(
        /^Blocked by gate: gate has blocked this session.*state of the guarded files/,
      );
      const [action] = (await actions()).filter(({ command }) => command === "make build");
      const { restored } = await gate.project.actions.detail(action!.id);
      expect(restored).toMatchObject(paths);
      // The state that was kept since then is whole.
      await gate.reopen();
      expect(await types()).toEqual(["guard.restored", "block.added"]);
    },
  );

  test("a crash, and nobody touched the kept state: the change is undone", async () => {
    const { gate, before, attack, types } = await openHost(host);
    expect(await before("make build", "k1")).toBe("allow");
    await gate.reopen(attack);
    expect(await before("ls", "k2")).toMatch(/^Blocked by gate: gate has blocked this session/);
    expect(readFileSync(join(gate.root, ".husky/pre-push"), "utf8")).toBe("true\n");
    expect(await types()).toEqual(["guard.restored", "block.added"]);
  });

  test("a person's edit while no command runs is left alone", async () => {
    const { gate, before, after, attack, types } = await openHost(host);
    await before("make build", "k1");
    await after("make build", "k1");
    attack();
    expect(await before("ls", "k2")).toBe("allow");
    expect(existsSync(join(gate.root, ".envrc"))).toBe(true);
    expect(await types()).toEqual([]);
  });
});
