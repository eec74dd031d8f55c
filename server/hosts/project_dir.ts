/** Hosts pass the folder of the session in this variable: Claude Code, and Qwen Code after it. */
const VARIABLES = ["CLAUDE_PROJECT_DIR"];

/** The folder of the session that a host passed in the environment. */
export function projectDirIn(env: Record<string, string | undefined>): string | undefined {
  for (const name of VARIABLES) if (env[name]) return env[name];
  return undefined;
}
