import { join } from "node:path";
import { World } from "../e2e/world.ts";
import { linkPrograms, pathWith } from "./programs.ts";

/** Creates a home for the real host programs, without network or API key. */
export async function createHostWorld(): Promise<World> {
  const world = await World.create("executable");
  const bin = join(world.folder, "bin");
  linkPrograms(bin);
  Object.assign(world.env, {
    PATH: pathWith(bin),
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  });
  return world;
}
