import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Client } from "../server/client.ts";
import { unwrap } from "../server/client.ts";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";
import { userHome } from "./home.ts";

/** The name of a project's config file. */
export const CONFIG_FILE = "gate.config.json";

/** The nearest folder upwards that holds a `gate.config.json`; never the home folder or `/`. */
export function findRoot(io: Pick<Io, "env" | "cwd">): string | null {
  const home = userHome(io);
  for (let folder = io.cwd;; folder = dirname(folder)) {
    if (folder === home || folder === dirname(folder)) return null;
    if (existsSync(join(folder, CONFIG_FILE))) return folder;
  }
}

/** The project a command is about: the one named, else the one of the working directory. */
export async function chooseProject(
  io: Pick<Io, "env" | "cwd">,
  client: Client,
  named: string | undefined,
): Promise<string> {
  if (named) return named;
  const root = findRoot(io);
  if (root) return (await unwrap(client.api.hub.projects.$post({ json: { root } }))).id;
  const { items } = await unwrap(client.api.hub.projects.$get());
  if (items.length === 1) return items[0]!.id;
  if (items.length === 0) {
    throw new CliError("No project is registered and this folder belongs to none", {
      next: "gate init",
    });
  }
  const ids = items.map((project) => project.id).join(", ");
  throw new CliError(`This folder belongs to no project; registered are ${ids}`, {
    next: "the same command with --project <id>",
  });
}
