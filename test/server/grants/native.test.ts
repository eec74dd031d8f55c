import { expect, test } from "vitest";
import { testCaller } from "../../helpers.ts";
import { openHooks, SPEAK } from "../hooks/stage.ts";
import { HOUR } from "./stage.ts";

const reviewer = testCaller("reviewer");

test.each(Object.keys(SPEAK))(
  "a grant allows the native command tool of %s",
  async (host) => {
    const speak = SPEAK[host]!;
    const { gate, post, actions } = await openHooks(host, { policies: { defaultEffect: "ask" } });
    let calls = 0;
    const before = (tool: string, input: Record<string, unknown>) =>
      post(speak.before(tool, input, { cwd: gate.root, key: `k-${++calls}` }));
    const run = (command: string) => before(speak.command, { command });
    expect((await run("npm publish --tag a")).held).not.toBeNull();
    const [first] = await actions();
    const remember = { ...HOUR, pattern: "npm publish --tag *" };
    await gate.project.actions.approve(first!.id, { remember }, reviewer);
    expect(await run("npm publish --tag b")).toMatchObject({ held: null, output: {} });
    expect((await run("npm publish --tag b --force")).held).not.toBeNull();
    const used = (await actions()).filter(({ decision }) => decision.grant_id !== undefined);
    expect(used).toMatchObject([{
      tool: speak.command,
      status: "approved",
      execution: "running",
      decided_by: "policy",
    }]);
    const { items } = await gate.project.grants.list({});
    expect(items).toMatchObject([{ access: "run", uses: 1, tool: speak.command }]);
  },
);
