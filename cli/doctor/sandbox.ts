import { lookForEngine } from "../../server/sandbox/engine.ts";
import type { CheckContext, Findings } from "./context.ts";

/** Names the engine in whose sandbox commands can run, or why there is none: that is no problem. */
export async function checkSandbox(_: CheckContext, found: Findings): Promise<void> {
  const { engine, why, fix } = await lookForEngine();
  found.ok(
    engine
      ? `${engine.name} ${engine.version} can run commands in a sandbox`
      : `none: ${why}${fix === null ? "" : `; to have one, ${fix}`}`,
  );
}
