import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SUBJECTS, World } from "./world.ts";

const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

describe("the README's tour prints the shown output, on the executable", () => {
  let world: World;
  let held = "";

  beforeAll(async () => {
    world = await World.create("executable", { proof: "none" });
    const bin = join(world.folder, "bin");
    mkdirSync(bin);
    symlinkSync(SUBJECTS.executable[0], join(bin, "gate"));
    world.env["PATH"] = `${bin}:${world.env["PATH"]}`;
  });

  afterAll(() => world.close());

  const steps = stepsOf(README);

  test("the README has a tour", () => {
    expect(steps.length).toBeGreaterThan(8);
  });

  test.each(steps)("$command", async ({ command, output }) => {
    const printed = await runInShell(command.replace(UUID, held));
    held = printed.match(UUID)?.[0] ?? held;
    expect(mask(printed)).toBe(mask(output));
  });

  function runInShell(command: string): Promise<string> {
    const child = spawn("sh", ["-c", command], { cwd: world.project, env: world.env });
    let stdout = "";
    child.stdout.on("data", (chunk) => stdout += chunk);
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", () => resolve(stdout.trimEnd()));
    });
  }
});

interface Step {
  command: string;
  output: string;
}

function stepsOf(readme: string): Step[] {
  const blocks = [...readme.matchAll(/^```console\n([^]*?)^```/gm)].map((match) => match[1]!);
  return blocks.flatMap((block) =>
    block.split(/^\$ /m).slice(1).map((step) => {
      const end = step.indexOf("\n");
      return { command: step.slice(0, end), output: step.slice(end + 1).trimEnd() };
    })
  );
}

// Masks ids, hashes, ports, pids, times and folder names, which differ between runs.
function mask(text: string): string {
  return text
    .replace(UUID, "<id>")
    .replaceAll(/\b[0-9a-f]{16}\b/g, "<hash>")
    .replaceAll(/localhost:\d+/g, "localhost:<port>")
    .replaceAll(/pid \d+/g, "pid <pid>")
    .replaceAll(/\d+(\.\d)? ?s\b/g, "<time>")
    .replaceAll(/\b\w+-[0-9a-f]{8}\b/g, "<project>");
}
