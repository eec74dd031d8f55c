import { sandboxOf } from "../../policy/contain.ts";
import type { SandboxView } from "../../sandbox/schema.ts";
import type { ActionServices } from "../context.ts";
import type { Openings } from "../review/openings.ts";

/** The sandbox that commands of the project get, and the walls that people opened for sessions. */
export async function viewSandbox(
  { config, environment, sessions }: ActionServices,
  openings: Openings,
): Promise<SandboxView> {
  const { compiled, around } = await config.inForce();
  const engine = await environment.sandbox?.() ?? null;
  const { mode, answers } = compiled.sandbox;
  const isOpen = async (id: string) => (await sessions.get(id)).ended_at === null;
  return {
    engine: engine && { name: engine.name, version: engine.version },
    ...{ mode, answers },
    sandbox: engine && mode !== "off" ? sandboxOf(compiled, { engine: engine.name }, around) : null,
    openings: await openings.listLive(isOpen),
  };
}
