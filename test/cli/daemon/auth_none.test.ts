import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CONFIG } from "../gated_project.ts";
import { createTerminal, type TestTerminal } from "../terminal.ts";

const PASSPHRASE = "correct horse battery\n";

let terminal: TestTerminal;
beforeEach(async () => {
  terminal = await createTerminal();
  terminal.env.GATE_HOME = join(terminal.folder, "throw-away");
  writeFileSync(join(terminal.folder, "project", "gate.config.json"), JSON.stringify(CONFIG));
});
afterEach(async () => {
  await terminal.run(["daemon", "stop"]);
  terminal.close();
});

async function good(...args: string[]) {
  const ended = await terminal.run(args);
  expect(ended, args.join(" ")).toMatchObject({ code: 0 });
  return ended;
}

const START = ["daemon", "start", "--auth", "none"];
const UNPROVEN = /nothing can be approved|gate proof set/;

test("under --auth none every command says that whoever reaches the port can approve", async () => {
  const open = "none: the daemon runs with --auth none, so whoever reaches its port can approve";
  expect((await good(...START)).stderr).not.toMatch(UNPROVEN);
  expect((await good("init", "--yes")).stderr).not.toMatch(UNPROVEN);
  const status = (await good("status")).stdout;
  expect(status).toContain(`Proof: ${open}\n`);
  expect(status).not.toMatch(UNPROVEN);
  expect((await good("proof", "status")).stdout).toBe(`${open}\n`);
  expect(JSON.parse((await good("proof", "status", "--json")).stdout)).toMatchObject({
    kind: "none",
    open: true,
    enrolled: [],
  });
  const { findings } = JSON.parse((await good("doctor", "--json")).stdout);
  expect(findings).toContainEqual({
    check: "proof",
    level: "warning",
    message: open,
    fix: "gate daemon restart",
    repair: null,
  });
  const write = JSON.stringify({ tool: "write_file", input: { path: "a.md", content: "a" } });
  const held = JSON.parse((await good("api", "POST", "/api/actions", "-d", write)).stdout);
  expect(held.status).toBe("pending");
  expect((await good("approve", held.id)).stdout).toBe("✓ approved, succeeded: a.md\n");
  expect((await good("daemon", "start")).stderr).toContain("! It runs with --auth none");
  await good("daemon", "restart");
  expect((await good("status")).stdout).toContain("Proof: none: nothing can be approved");
});

test("a home with a passphrase refuses --auth none with the reason and the next step", async () => {
  await good("daemon", "start");
  const set = ["proof", "set", "--passphrase-stdin"];
  expect(await terminal.run(set, { input: PASSPHRASE })).toMatchObject({ code: 0 });
  const running = await terminal.run(START);
  expect(running).toMatchObject({ code: 1, stdout: "" });
  expect(running.stderr).toContain(
    "a daemon of this home runs already, and it asks for credentials\n" +
      "  try: set GATE_HOME to a throw-away folder",
  );
  await good("daemon", "stop");
  // Several at once, because the daemon that refuses lives for a moment.
  for (const refused of await Promise.all([1, 2, 3].map(() => terminal.run(START)))) {
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toBe(
      "gate: Cannot start the daemon: it cannot run without credentials on this home: a " +
        "passphrase or passkey decides here\n  try: set GATE_HOME to a throw-away folder\n",
    );
  }
  const restart = await terminal.run(["daemon", "restart", "--auth", "none"]);
  expect(restart).toMatchObject({ code: 1 });
  expect(restart.stderr).toContain("it cannot run without credentials on this home");
  expect((await good("daemon", "start")).stdout).toContain(" runs: ");
  const { kind, open } = JSON.parse((await good("proof", "status", "--json")).stdout);
  expect([kind, open]).toEqual(["passphrase", false]);
});
