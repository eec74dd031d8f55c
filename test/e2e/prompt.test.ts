import { chmodSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type Subject, World } from "./world.ts";

let world: World;
afterEach(() => world.close());

/** What a shell prompt shows: `gate prompt` always succeeds and says nothing more. */
async function prompt(): Promise<string> {
  const { code, stdout, stderr } = await world.run(["prompt"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

async function hold(path: string): Promise<void> {
  const action = { tool: "write_file", input: { path, content: "text\n" } };
  await world.api("POST", "/api/actions?project=demo", action, "agent");
}

describe.each(["executable", "node"] satisfies Subject[])("gate prompt, on %s", (subject) => {
  test("prints the number of held actions, and nothing without any", async () => {
    world = await World.create(subject);
    expect(await prompt()).toBe("");
    await world.init();
    expect(await prompt()).toBe("");
    await hold("docs/a.md");
    await hold("docs/b.md");
    expect(await prompt()).toBe("gate:2\n");
  });

  test("prints nothing when the token is not its user's alone, or the daemon is silent", async () => {
    world = await World.create(subject);
    await world.init();
    await hold("docs/a.md");
    const token = join(world.gateHome, "tokens", "viewer");
    chmodSync(token, 0o644);
    expect(await prompt()).toBe("");
    chmodSync(token, 0o600);
    await world.whileFrozen(async () => expect(await prompt()).toBe(""));
    expect(await prompt()).toBe("gate:1\n");
  });
});
