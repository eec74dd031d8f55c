/**
 * Hosts pass the folder of the session in these variables: Claude Code and Qwen Code. They are not in
 * the hosts' records, because `gate hook` reads them before it loads the records.
 */
const VARIABLES = ["CLAUDE_PROJECT_DIR"];

/** The folder of the session that a host passed in the environment. */
export function projectDirIn(env: Record<string, string | undefined>): string | undefined {
  for (const name of VARIABLES) if (env[name]) return env[name];
  return undefined;
}
