import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, SUBJECTS } from "./world.ts";

/** A device that answers each write with "no space left". */
const FULL = "/dev/full";

let folder: string;
let tool: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gate-full-"));
  tool = join(folder, "scenario-tool");
  symlinkSync(SUBJECTS.executable[0], tool);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command while one of its outputs is full. */
async function run(
  [program, ...args]: readonly string[],
  full: "stdout" | "stderr",
  input = "",
): Promise<Ended> {
  const device = openSync(FULL, "w");
  const child = spawn(program!, args, {
    cwd: folder,
    env: { HOME: folder, PATH: "/usr/bin:/bin", GATE_HOME: join(folder, "home") },
    stdio: ["pipe", full === "stdout" ? device : "pipe", full === "stderr" ? device : "pipe"],
  });
  closeSync(device);
  const ended: Ended = { code: null, stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk) => ended.stdout += chunk);
  child.stderr?.on("data", (chunk) => ended.stderr += chunk);
  child.stdin!.end(input);
  return await new Promise((resolve) => child.on("close", (code) => resolve({ ...ended, code })));
}

describe.skipIf(!existsSync(FULL))("an output that cannot be written", () => {
  const REASON = "gate: Cannot write the output: the disk is full\n" +
    "  try: make room where the output goes, then the same command\n";

  test.each(["--version", "--help", "approve --help", "policy templates", "man"])(
    "gate %s says why and exits with 1",
    async (line) => {
      const ended = await run([...SUBJECTS.executable, ...line.split(" ")], "stdout");
      expect(ended).toMatchObject({ code: 1, stderr: REASON });
    },
  );

  // Its exit code 1 means that a scenario failed.
  test.each(["--version", "--help", "schema"])("scenario-tool %s exits with 3", async (word) => {
    expect(await run([tool, word], "stdout")).toMatchObject({ code: 3, stderr: REASON });
  });

  test.each(["node", "executable"] as const)(
    "a hook without an answer blocks: %s",
    async (name) => {
      const command = [...SUBJECTS[name], "hook", "claude-code"];
      expect(await run(command, "stdout", "no JSON")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("Blocked by gate: ENOSPC"),
      });
    },
  );

  test("lost messages leave the exit code as it is", async () => {
    expect((await run([...SUBJECTS.executable, "nonsense"], "stderr")).code).toBe(64);
    expect((await run([tool, "run", "--nonsense"], "stderr")).code).toBe(3);
    const validated = await run([tool, "list", "nowhere.json"], "stderr");
    expect(validated.code).toBe(3);
  });
});
