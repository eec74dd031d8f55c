import { spawn } from "node:child_process";
import process from "node:process";
import { tool } from "../cli/scenario/harness.ts";

/** The executable that is measured: `GATE_TOOL`, or none for the source. */
export const EXECUTABLE = process.env["GATE_TOOL"];

/** Runs the executable, or the source in this process without one. */
export async function runTool(
  cwd: string,
  ...argv: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  if (EXECUTABLE === undefined) return await tool(cwd, ...argv);
  const child = spawn(EXECUTABLE, argv, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => said.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text) => said.stderr += text);
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, ...said }));
  });
}
