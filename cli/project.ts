import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Client } from "../server/client.ts";
import { ProblemError, unwrap } from "../server/client.ts";
import { MACHINE_ID } from "../server/constants.ts";
import { scopedClient } from "./daemon/connect.ts";
import { CliError } from "./errors.ts";
import type { Io } from "./io.ts";
import { userHome } from "./home.ts";
import type { PassphraseOptions } from "./proof/passphrases.ts";
import { openReview } from "./proof/prover.ts";

/** The name of a project's config file. */
export const CONFIG_FILE = "gate.config.json";

/** The nearest parent folder with a `gate.config.json`; the home folder and `/` do not count. */
export function findRoot(io: Pick<Io, "env" | "cwd">): string | null {
  const home = userHome(io);
  for (let folder = io.cwd;; folder = dirname(folder)) {
    if (folder === home || folder === dirname(folder)) return null;
    if (existsSync(join(folder, CONFIG_FILE))) return folder;
  }
}

/** The id of the named project, or else of the working directory's. @throws CliError */
export async function chooseProject(
  io: Pick<Io, "env" | "cwd">,
  client: Client,
  named: string | undefined,
): Promise<string> {
  if (named) return named;
  const root = findRoot(io);
  if (root) return await registeredId(client, root);
  const registered = await unwrap(client.api.hub.projects.$get());
  const items = registered.items.filter(({ id }) => id !== MACHINE_ID);
  if (items.length === 1) return items[0]!.id;
  if (items.length === 0) {
    throw noProject("no project is registered");
  }
  const ids = items.map((project) => project.id).join(", ");
  const why = `this folder belongs to no project, and these are registered: ${ids}`;
  throw new CliError(`Cannot choose a project: ${why}`, {
    next: "the same command with --project <id>",
  });
}

/** A folder that waits for a person's proof belongs to no project yet; its config names the one. */
async function registeredId(client: Client, root: string): Promise<string> {
  try {
    return (await unwrap(client.api.hub.projects.$post({ json: { root } }))).id;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.code !== "proof_required") throw error;
    const { identifyProject } = await import("../server/projects/identity.ts");
    return identifyProject(root).id;
  }
}

/** A reviewer's client for the named project, or else for the working directory's. */
export async function openProject(
  io: Io,
  named: string | undefined,
  options?: PassphraseOptions,
): Promise<Client> {
  const connection = await openReview(io, options);
  return scopedClient(connection, await chooseProject(io, connection.client, named));
}

/** The root of the working directory's project. @throws CliError if there is none */
export function requireProjectRoot(io: Pick<Io, "env" | "cwd">): string {
  const root = findRoot(io);
  if (root) return root;
  throw noProject(`no ${CONFIG_FILE} in this folder or above`);
}

function noProject(why: string): CliError {
  return new CliError(`Cannot find a project: ${why}`, { next: "gate init" });
}
