import type { Environment } from "../environment.ts";
import type { Database } from "../db/database.ts";
import { GateError } from "../errors.ts";
import type { Proof } from "../proof/schema.ts";
import { keepWorkspaces } from "./kept.ts";
import type { CreateWorkspaceInput, Workspace } from "./schema.ts";
import {
  findWorkspace,
  insertMember,
  insertWorkspace,
  listToKeep,
  listWorkspaces,
  removeMember,
  removeWorkspace,
} from "./store.ts";

const MAX_WORKSPACES = 1_000;

/** The person or program that adds a project. */
export interface Registrant {
  id: string;
  scope: "agent" | "viewer" | "reviewer";
  member_id?: string | null;
  via?: "token" | "page" | "none";
  proof?: Proof | null;
}

export interface WorkspacesServices {
  registry: Database;
  /** Registers the project with a config in a folder. @throws GateError */
  register: (root: string, caller: Registrant) => Promise<{ id: string }>;
  now: () => number;
  log: Environment["log"];
  home: string;
}

/** Named sets of projects, stored in the registry. */
export class Workspaces {
  readonly #services: WorkspacesServices;
  #keeping = Promise.resolve();

  constructor(services: WorkspacesServices) {
    this.#services = services;
  }

  list(): Promise<Workspace[]> {
    return listWorkspaces(this.#services.registry);
  }

  /** @throws GateError `not_found` */
  async get(id: string): Promise<Workspace> {
    const found = id.includes("\0") ? null : await findWorkspace(this.#services.registry, id);
    if (found) return found;
    throw new GateError(
      "not_found",
      `Cannot find workspace "${id}": there is none`,
      { next: "gate workspace list" },
    );
  }

  /** @throws GateError `conflict` when the id is taken */
  async create({ id, name }: CreateWorkspaceInput): Promise<Workspace> {
    const made = { id, name, created_at: this.#at() };
    const [rows] = await this.#services.registry.batch([insertWorkspace(made, MAX_WORKSPACES)]);
    if (rows?.length) {
      await this.#keep();
      return { ...made, project_ids: [] };
    }
    const [why, next] = await findWorkspace(this.#services.registry, id)
      ? ["it exists already", `gate workspace show ${id}`]
      : [`there are ${MAX_WORKSPACES} already`, "gate workspace remove"];
    throw new GateError("conflict", `Cannot create workspace "${id}": ${why}`, { next });
  }

  /** @throws GateError `not_found` */
  async remove(id: string): Promise<void> {
    await this.get(id);
    await this.#services.registry.batch(removeWorkspace(id));
    await this.#keep();
  }

  /** Adds the project of a folder and registers it if necessary. @throws GateError */
  async addProject(
    id: string,
    root: string,
    caller: Registrant,
  ): Promise<Workspace> {
    await this.get(id);
    const project = await this.#services.register(root, caller);
    await this.#services.registry.batch([insertMember(id, project.id, this.#at())]);
    await this.#keep();
    return await this.get(id);
  }

  /** @throws GateError `not_found` when the project is not in it */
  async removeProject(id: string, project_id: string): Promise<Workspace> {
    const { project_ids } = await this.get(id);
    if (!project_ids.includes(project_id)) {
      const message = `Cannot remove project "${project_id}": it is not in workspace "${id}"`;
      throw new GateError("not_found", message, { next: `gate workspace show ${id}` });
    }
    await this.#services.registry.batch([removeMember(id, project_id)]);
    await this.#keep();
    return await this.get(id);
  }

  /** Writes one file after the other, so that the last write is the newest state. */
  #keep(): Promise<void> {
    const { registry, home, log } = this.#services;
    return this.#keeping = this.#keeping.then(async () => {
      keepWorkspaces(home, await listToKeep(registry));
    }).catch((error) =>
      log("warn", "Cannot save the workspaces beside the registry", { error: String(error) })
    );
  }

  #at(): string {
    return new Date(this.#services.now()).toISOString();
  }
}
