import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestGateOptions } from "../../../helpers.ts";
import { agent, openGate } from "../harness.ts";

export const FILES = {
  "a.txt": "one\ntwo\n",
  "b.txt": "bee",
  "x.log": "log x",
  "y.log": "log y",
  "dir/c.txt": "see",
  "dir/deep/d.txt": "dee",
};
export const RESULT = { output: "", truncated: false, duration_ms: 1 };

/** A project with the files in `FILES`. Its commands run as `gate mcp` runs them. */
export async function openCommands(options: TestGateOptions = {}) {
  const around = await openGate({ files: FILES, ...options });
  const { gate, actions, submit } = around;
  const claim = (id: string) => actions.claim(id, {}, agent);
  const finish = async (id: string, claim_id: string, command: string) => {
    const { status } = spawnSync("bash", ["-c", command], { cwd: gate.root });
    return await actions.result(id, { ...RESULT, claim_id, exit_code: status }, agent);
  };
  return {
    ...around,
    claim,
    finish,
    /** Submits, claims and runs a command and reports its result, as `gate mcp` does. */
    async run(command: string) {
      const asked = await submit("run_command", { command });
      const { claim_id } = await claim(asked.id);
      return { asked, done: await finish(asked.id, claim_id, command) };
    },
    /** Every path of the project with its mode and content. */
    tree(): Record<string, string> {
      const found: Record<string, string> = {};
      for (const entry of readdirSync(gate.root, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        const { mode } = lstatSync(path);
        const content = entry.isFile()
          ? readFileSync(path, "latin1")
          : entry.isDirectory()
          ? "/"
          : "@";
        found[path.slice(gate.root.length + 1)] = `${(mode & 0o777).toString(8)} ${content}`;
      }
      return Object.fromEntries(Object.entries(found).sort());
    },
  };
}
