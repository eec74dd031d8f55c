import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Between } from "../../between.ts";
import { CONFIG, type GatedProject, openGatedProject } from "../gated_project.ts";

const PASSPHRASE = "correct horse battery";
const loose = (paths: string[]) =>
  `${JSON.stringify({ ...CONFIG, policies: { ...CONFIG.policies, allowedPaths: paths } })}\n`;
const LOOSE = loose(["src/**", "free/**"]);
const LOOSER = loose(["**"]);
const STILL_WAITS = "a person must accept it: gate config accept";

let gated: GatedProject;
let between: Between | null;

beforeEach(async () => {
  between = null;
  gated = await openGatedProject("none");
  gated.terminal.env.NO_COLOR = "1";
  for (const args of [["proof", "set"], ["config", "accept"]]) {
    expect(await signed(...args)).toMatchObject({ code: 0 });
  }
});
afterEach(async () => {
  await between?.close();
  await gated.close();
});

function signed(...args: string[]) {
  return gated.terminal.run([...args, "--passphrase-stdin"], { input: `${PASSPHRASE}\n` });
}

const statusOf = async (path: string) => (await gated.write(path, "x\n")).status;

async function takeSocket(): Promise<Between> {
  between = new Between(join(gated.terminal.folder, ".gate"));
  await between.listen();
  return between;
}

test("an approved write of the config holds at once, and nothing else waits", async () => {
  expect(await statusOf("free/a.txt")).toBe("pending");
  const held = await gated.write("gate.config.json", LOOSE);
  expect(held.status).toBe("pending");
  expect((await gated.good("show", held.id)).stdout).toContain("approving also accepts it");
  const approved = await signed("approve", held.id);
  expect(approved).toMatchObject({ code: 0 });
  expect(approved.stderr).toContain("the config is accepted and in force");
  expect(await statusOf("free/b.txt")).toBe("approved");
  expect((await gated.json("config", "show", "--json")).outside_changes).toEqual([]);
  await gated.good("audit", "verify");
});

test("an edited config is accepted as the person left it", async () => {
  const held = await gated.write("gate.config.json", LOOSER);
  const editor = join(gated.terminal.folder, "edit.sh");
  writeFileSync(editor, `#!/bin/sh\ncat > "$1" <<'END'\n${LOOSE}END\n`, { mode: 0o755 });
  gated.terminal.env.EDITOR = editor;
  const approved = await signed("approve", held.id, "--edit");
  expect(approved).toMatchObject({ code: 0 });
  expect(approved.stderr).toContain("the config is accepted and in force");
  expect(await statusOf("free/b.txt")).toBe("approved");
  expect(await statusOf("other.txt")).toBe("pending");
});

test.each([
  ["before it is read", /\/api\/config(?:\?|$)/],
  ["before it is accepted", /\/api\/config\/accept/],
])("a file that another program replaces %s is not accepted", async (_, when) => {
  const held = await gated.write("gate.config.json", LOOSE);
  const file = join(gated.folder, "gate.config.json");
  (await takeSocket()).tricks = {
    ask: ({ path }) => when.test(path) && writeFileSync(file, LOOSER),
  };
  const approved = await signed("approve", held.id);
  expect(approved.stderr).toContain(STILL_WAITS);
  expect(gated.onDisk("gate.config.json")).toBe(LOOSER);
  for (const path of ["other.txt", "free/a.txt"]) expect(await statusOf(path)).toBe("pending");
});

test("a program in between gets no signature for another config", async () => {
  const held = await gated.write("gate.config.json", LOOSE);
  const evil = "e".repeat(64);
  (await takeSocket()).tricks = {
    // deno-lint-ignore no-explicit-any
    answer: (body: any) => {
      if (body?.challenge?.verb === "accept_config") body.challenge.digest = evil;
    },
  };
  const approved = await signed("approve", held.id);
  expect(approved.stderr).toContain("Cannot sign the decision");
  expect(approved.stderr).toContain(STILL_WAITS);
  expect(await statusOf("free/a.txt")).toBe("pending");
});

test("a command that writes the config does not make anybody accept it", async () => {
  const held = await gated.submit("run_command", { command: "cp other.json gate.config.json" });
  expect(held.status).toBe("pending");
  expect((await gated.good("show", held.id)).stdout).not.toContain("approving also accepts it");
});
