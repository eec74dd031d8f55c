import { execFile } from "node:child_process";
import { findProgram, type Machine } from "./machine.ts";
import { SERVER_NAME } from "./ours.ts";
import type { Registration } from "./registration.ts";

const TIMEOUT_MS = 30_000;

/** Claude Code's own program, where it can be given JSON without a shell in between. */
export function findClaude(machine: Machine): string | null {
  const path = findProgram(machine, "claude");
  return path?.endsWith(".cmd") ? null : path;
}

/**
 * Has Claude Code write the entry itself: a session that runs rewrites the whole file, and would
 * lose what others wrote into it. The caller looks at the file afterwards: an exit code proves little.
 */
export async function addWithClaude(
  claude: string,
  { outcome, entry }: Registration,
  { env, home }: Machine,
): Promise<void> {
  const run = (args: string[]) => runQuietly(claude, ["mcp", ...args], { env, cwd: home });
  if (outcome === "updated") await run(["remove", SERVER_NAME, "-s", "user"]);
  await run(["add-json", "--scope", "user", SERVER_NAME, JSON.stringify(entry)]);
}

function runQuietly(
  program: string,
  args: string[],
  { env, cwd }: { env: Machine["env"]; cwd: string },
): Promise<void> {
  return new Promise((resolve) => {
    const options = { env: { ...env, DISABLE_AUTOUPDATER: "1" }, cwd, timeout: TIMEOUT_MS };
    execFile(program, args, options, () => resolve()).stdin?.end();
  });
}
