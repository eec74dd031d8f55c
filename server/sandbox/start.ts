import type { SandboxStart } from "../runtime/sandboxed_process.ts";
import { startBehind } from "./bubblewrap.ts";
import { startConfined } from "./landlock.ts";
import type { Reach } from "./reach.ts";
import type { Walls } from "./schema.ts";
import { startByProfile } from "./seatbelt.ts";

/**
 * The start of a command behind these walls, by the engine that they name. `env` is the environment
 * of the process that runs it; the folders of its PATH are shown. `reach` is the way to the hosts that
 * the walls list. @throws Error if this process cannot start that engine
 */
export function startSandbox(
  walls: Walls,
  env: Record<string, string | undefined>,
  reach: Reach | null = null,
): SandboxStart {
  switch (walls.engine.name) {
    case "bubblewrap":
      return startBehind(walls, env, reach);
    case "landlock":
      return startConfined(walls, env);
    case "seatbelt":
      return startByProfile(walls, env);
  }
}
