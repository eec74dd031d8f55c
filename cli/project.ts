import { existsSync } from "node:fs";
import { dirname, join, sep } from "node:path";
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

/** A registered project, by its folders. */
interface Registered {
  id: string;
  roots: readonly string[];
}

/** The innermost registered root that contains the folder, even if its config is gone; or null. */
export function findRegistered(cwd: string, projects: readonly Registered[]): string | null {
  const roots = projects.filter(({ id }) => id !== MACHINE_ID).flatMap(({ roots }) => roots)
    .filter((root) => cwd === root || cwd.startsWith(root + sep));
  return roots.sort((a, b) => b.length - a.length)[0] ?? null;
}

/**
 * The project whose rules apply in the working directory: the named one, the folder's own even if
 * its config is gone, or the machine's. @throws CliError
 */
export async function chooseRules(
  io: Pick<Io, "env" | "cwd">,
  client: Client,
  named: string | undefined,
): Promise<string> {
  return named ?? await ownProject(io, client) ?? MACHINE_ID;
}

/**
 * The id of the named project, or else of the working directory's. In a folder of no project it is
 * the only registered one, which a line on stderr then says. @throws CliError
 */
export async function chooseProject(
  io: Pick<Io, "env" | "cwd" | "stderr">,
  client: Client,
  named: string | undefined,
): Promise<string> {
  const own = named ?? await ownProject(io, client);
  if (own !== null) return own;
  const registered = await unwrap(client.api.hub.projects.$get());
  const items = registered.items.filter(({ id }) => id !== MACHINE_ID);
  if (items.length === 1) {
    const { id } = items[0]!;
    io.stderr.write(`This folder belongs to no project; "${id}" is the only registered one.\n`);
    return id;
  }
  if (items.length === 0) {
    throw noProject("no project is registered");
  }
  const ids = items.map((project) => project.id).join(", ");
  const why = `this folder belongs to no project, and these are registered: ${ids}`;
  throw new CliError(`Cannot choose a project: ${why}`, {
    next: "the same command with --project <id>",
  });
}

/** The id of the working directory's project, or null. Registers a folder with a config. */
async function ownProject(
  io: Pick<Io, "env" | "cwd">,
  client: Client,
): Promise<string | null> {
  const root = findRoot(io);
  const { items } = await unwrap(client.api.hub.projects.$get());
  const registered = findRegistered(io.cwd, items);
  // A config above the folder of a registered project does not take its place.
  const known = items.find(({ roots }) => registered !== null && roots.includes(registered));
  if (root !== null && (registered === null || registered.length <= root.length)) {
    return await registeredId(client, root, registered === root ? known?.id : undefined);
  }
  return known?.id ?? null;
}

/**
 * A folder that waits for a person's proof belongs to no project yet; its config names the one. A
 * folder whose config has become unreadable stays in the project that it is `known` to belong to.
 */
async function registeredId(
  client: Client,
  root: string,
  known: string | undefined,
): Promise<string> {
  try {
    return (await unwrap(client.api.hub.projects.$post({ json: { root } }))).id;
  } catch (error) {
    const code = error instanceof ProblemError ? error.problem.code : null;
    if (code === "invalid" && known !== undefined) return known;
    if (code !== "proof_required") throw error;
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

/** As `openProject`, for a command about rules: outside of projects it is about the machine's. */
export async function openRules(
  io: Io,
  named: string | undefined,
  options?: PassphraseOptions,
): Promise<Client> {
  const connection = await openReview(io, options);
  return scopedClient(connection, await chooseRules(io, connection.client, named));
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
