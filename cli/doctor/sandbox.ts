import type { HookedHost } from "../../server/hosts/host.ts";
import { type EngineFound, lookForEngine } from "../../server/sandbox/engine.ts";
import type { CheckContext } from "./context.ts";
import type { Findings } from "./findings.ts";
import { installedHooks } from "./hooks.ts";

/** Reports the engine of the sandbox, or why there is none. A machine needs none. */
export async function checkSandbox(context: CheckContext, found: Findings): Promise<void> {
  const look = await lookForEngine();
  found.ok(describeEngine(look));
  if (!look.engine) return;
  for (const { host } of installedHooks(context)) found.ok(shellOf(host));
}

/** Describes the engine, its limits, and how to install one or a better one. */
export function describeEngine({ engine, why, fix }: EngineFound): string {
  const next = (what: string) => fix === null ? "" : `; to have ${what}, ${fix}`;
  if (!engine) return `none: ${why}${next("one")}`;
  const runs = `${engine.name} ${engine.version} can run commands in a sandbox`;
  if (engine.can_mask) return runs;
  return `${runs}, but it hides no single file of a project: where a rule blocks a file that is ` +
    `there, a person is asked about the command instead (${why}${next("more")})`;
}

/** Where the commands of a host's own shell run. */
function shellOf({ name, hooks: { rewriting } }: HookedHost): string {
  if (rewriting === null) {
    return `${name}'s own shell never runs in the sandbox; the tool run_command does`;
  }
  const when = rewriting.only_unasked ? " in sessions in which it asks you nothing itself" : "";
  return `${name}'s own shell runs commands in the sandbox${when}, once it has shown that it takes ` +
    "gate's commands";
}
