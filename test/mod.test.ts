import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { v7 } from "uuid";
import { describe, expect, test, vi } from "vitest";
import { Action, compilePolicy, createClient, evaluate, parse, startGate, unwrap } from "../mod.ts";
import { createTempFolder } from "./temp_folder.ts";

describe("the library", () => {
  test("does what its example says", () => {
    const source = readFileSync(new URL("../mod.ts", import.meta.url), "utf8");
    const example = source.match(/```ts\n([^]*?)```/)![1]!.replaceAll(/^ \* ?/gm, "");
    const body = example.replace(/^import .*$/m, "").replaceAll(" as const", "");
    const log = vi.fn();
    new Function("compilePolicy", "evaluate", "console", body)(compilePolicy, evaluate, { log });
    expect(log.mock.calls).toEqual([[body.match(/; \/\/ (\w+)/)![1]]]);
  });

  test("starts a gate inside a program and speaks with it", async () => {
    const folder = createTempFolder("mod");
    writeFileSync(join(folder, "gate.config.json"), '{ "id": "embedded" }');
    const home = join(folder, "home");
    const environment = { home, now: Date.now, id: v7, log: () => {} };
    const gate = await startGate({ environment, port: 0, auth: "none" });
    try {
      const client = createClient({ url: `http://127.0.0.1:${gate.port}` });
      await unwrap(client.api.hub.projects.$post({ json: { root: folder } }));
      const answer = await client.api.actions.$post({
        json: { tool: "write_file", input: { path: "a.txt", content: "x" } },
      });
      expect(parse(Action, await answer.json())).toMatchObject({ status: "pending" });
    } finally {
      await gate.close();
    }
  });
});
