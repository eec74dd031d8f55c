import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createTestGate } from "../../helpers.ts";

/** From its place this link leads to a folder of the project, from `src/f` to one beside the project. */
const LINK = "../../beside";

async function open() {
  const gate = await createTestGate({
    policies: {
      allowedPaths: ["src/**"],
      allowedCommands: "mv cp rm ln tar cat echo mkdir touch find xargs bash nice ls git".split(
        " ",
      ),
    },
    files: { "src/f/x": "1", "src/a/b/y": "1", "src/plain/z": "1", "src/one": "1", "src/two": "1" },
  });
  symlinkSync(LINK, join(gate.root, "src/a/b/l"));
  mkdirSync(join(gate.root, "src/ls"));
  symlinkSync("one", join(gate.root, "src/ls/-l"));
  return gate;
}

describe("a text in which a path may lead elsewhere than it was judged for", () => {
  const ROWS: [command: string, status: "approved" | "pending"][] = [
    ["mv src/f src/g; mv src/a/b/l src/f; cat src/f/x", "pending"],
    ["mv src/f src/g && mv src/a/b/l src/f && touch src/f/new", "pending"],
    ["mv src/a/b/l src/f", "pending"],
    ["mv src/a/b/l/ src/f", "pending"],
    ["mv -t src src/a/b/l", "pending"],
    ["mv --target-directory=src src/a/b/l", "pending"],
    ["mv src/a src/c", "pending"],
    ["cp -P src/a/b/l src/h", "pending"],
    ["cp -r src/a src/c && cat src/c/b/l/x", "pending"],
    ["cd src/ls && mv -- -l ..", "pending"],
    ["cp -s /etc/hostname src/h; cat src/h", "pending"],
    ["bash -c 'mv src/a/b/l src/f'", "pending"],
    ["nice mv src/a/b/l src/f", "pending"],
    ["find src/a -name l -exec mv {} src/f ';'", "pending"],
    ["for f in src/a/b/*; do mv $f src; done", "pending"],
    ["cd src/a && mv b/l .. && cat ../l/x", "pending"],
    ["ln -s one src/k && cat src/k", "pending"],
    ["ln -s one src/k | cat src/two", "pending"],
    ["tar xf src/one -C src && cat src/two", "pending"],
    ["bash -c 'tar xf src/one -C src'; cat src/two", "pending"],
    ["git checkout other && cat src/two", "pending"],
    ["git -C src checkout other && cat src/two", "pending"],
    ["rm src/a/b/l && mkdir src/a/b/l && touch src/a/b/l/x", "pending"],
    ["mv src/one src/three && cat src/three", "approved"],
    ["mv src/one src/a/b && cat src/a/b/one", "approved"],
    ["mv src/plain src/p && ls src/p", "approved"],
    ["cp -r src/plain src/p && cat src/p/z", "approved"],
    ["cp src/one . -t src/f && cat src/f/one", "pending"],
    ["rm src/one && ls src", "approved"],
    ["git log && cat src/two", "approved"],
  ];

  test.each(ROWS)("%s is %s", async (command, status) => {
    const gate = await open();
    const order = { tool: "run_command", input: { command } };
    const answer = await gate.request("POST", "/api/actions", order, "agent");
    expect(await answer.json()).toMatchObject({ status });
  });

  test("says why it asks", async () => {
    const gate = await open();
    const order = { tool: "run_command", input: { command: "mv src/a/b/l src/f" } };
    const answer = await gate.request("POST", "/api/actions", order, "agent");
    const { decision } = await answer.json() as { decision: { reason: string } };
    expect(decision.reason).toContain("a link that is moved or copied");
  });
});
