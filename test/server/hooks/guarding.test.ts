import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
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
