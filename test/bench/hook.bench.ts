import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { World } from "../e2e/world.ts";
import { compare, quantile, report } from "./figures.ts";

const ROUNDS = 100;

/** Times `gate hook` and `gate prompt`, and compares them with an empty Node script. */
export async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gate-bench-"));
  const world = await World.create("executable");
  try {
    await world.init();
    const empty = join(folder, "empty.mjs");
    writeFileSync(empty, "");
    // `node` on PATH may be a wrapper script.
    const real = execFileSync("node", ["-p", "process.execPath"]).toString().trim();
    const time = (command: string[], input: string) => timeOf(command, input, world);
    const times = { node: [] as number[], hook: [] as number[], prompt: [] as number[] };
    for (let round = 0; round < ROUNDS + 5; round++) {
      const node = time([real, empty], "");
      const hook = time(world.command(["hook", "claude-code"]), callOf(world, round));
      const prompt = time(world.command(["prompt"]), "");
      if (round < 5) continue; // the first rounds read the files from disk
      times.node.push(node);
      times.hook.push(hook);
      times.prompt.push(prompt);
    }
    report("an empty script of Node", times.node);
    report("gate hook, start to answer", times.hook);
    report("gate prompt", times.prompt);
    const [node, hook, prompt] = [times.node, times.hook, times.prompt].map((one) =>
      quantile(one, 0.5)
    ) as [number, number, number];
    compare("ratio of the medians", hook / node, { most: 0.35, unit: "x" });
    compare("gate prompt, median", prompt, { most: 30, unit: "ms" });
  } finally {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A hook input with an allowed command that is new in each round. */
function callOf({ project }: World, round: number): string {
  return JSON.stringify({
    session_id: "bench",
    cwd: project,
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: `echo ${round}` },
    tool_use_id: `call-${round}`,
  });
}

function timeOf([program, ...args]: string[], input: string, { env, project }: World): number {
  // These variables would make Node load more at start, so gate would look faster than it is.
  const plain = { ...env, NODE_EXTRA_CA_CERTS: "", NODE_OPTIONS: "" };
  const started = performance.now();
  const { status, stdout } = spawnSync(program!, args, { env: plain, cwd: project, input });
  const elapsed = performance.now() - started;
  if (status !== 0) throw new Error(`Cannot time "${program}": it ended with ${status}`);
  if (args[0] === "hook" && stdout.toString() !== "{}\n") throw new Error(stdout.toString());
  return elapsed;
}
