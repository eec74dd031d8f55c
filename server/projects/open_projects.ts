import { GateError } from "../errors.ts";
import type { Project } from "./project.ts";

/** At most this many unused ledgers stay open. */
const MAX_IDLE = 64;

/**
 * A call waits at most five minutes for its decision, so after six no call uses the ledger. An
 * export may take longer and keeps its ledger open.
 */
const IDLE_MS = 6 * 60 * 1000;

export interface Opening {
  /** Opens the project of that id. @throws GateError */
  open: (id: string) => Promise<Project>;
  /** Called after a project was closed. `isLeft`: it holds unfinished actions. */
  closed: (id: string, isLeft: boolean) => Promise<void>;
  failed: (id: string, error: unknown) => void;
  now: () => number;
}

interface Entry {
  project: Promise<Project>;
  used_at: number;
}

/** The projects with an open ledger. Opens each once and closes it when it is unused. */
export class OpenProjects {
  readonly #opening: Opening;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Map<string, Promise<void>>();
  #closed = false;

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  /** The project. Opens it if necessary. @throws GateError `not_found`, `unavailable` */
  get(id: string): Promise<Project> {
    if (this.#closed) {
      return Promise.reject(
        new GateError("unavailable", "Cannot open a project: the daemon is stopping; try again"),
      );
    }
    const entry = this.#entries.get(id) ?? { project: this.#open(id), used_at: 0 };
    entry.used_at = this.#opening.now();
    this.#entries.set(id, entry);
    return entry.project;
  }

  /** The project if it is open. */
  async peek(id: string): Promise<Project | null> {
    return await this.#entries.get(id)?.project.catch(() => null) ?? null;
  }

  async list(): Promise<Project[]> {
    const opened = await Promise.allSettled([...this.#entries.values()].map((e) => e.project));
    return opened.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
  }

  /** Closes one project. A later opening waits for the closing. */
  async close(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (entry) this.#closing.set(id, this.#shut(id, entry.project));
    await this.#closing.get(id);
  }

  /** Closes all projects for good, also after one of them fails to close. */
  async closeAll(): Promise<void> {
    this.#closed = true;
    for (const id of [...this.#entries.keys()]) await this.close(id);
    await Promise.all(this.#closing.values());
  }

  async #open(id: string): Promise<Project> {
    try {
      await this.#closing.get(id);
      const project = await this.#opening.open(id);
      await this.#closeIdle();
      return project;
    } catch (error) {
      this.#entries.delete(id);
      throw error;
    }
  }

  async #shut(id: string, opening: Promise<Project>): Promise<void> {
    try {
      const project = await opening.catch(() => null);
      if (project) await this.#opening.closed(id, await project.close());
    } catch (error) {
      this.#opening.failed(id, error);
    } finally {
      this.#closing.delete(id);
    }
  }

  /** Closes unused projects. Unfinished actions keep a project open, so that they can expire. */
  async #closeIdle(): Promise<void> {
    const before = this.#opening.now() - IDLE_MS;
    const idle = [...this.#entries].filter(([, { used_at }]) => used_at < before)
      .toSorted(([, a], [, b]) => a.used_at - b.used_at)
      .slice(0, Math.max(0, this.#entries.size - MAX_IDLE));
    for (const [id, { project }] of idle) {
      const opened = await project.catch(() => null);
      // People here hear of what other machines commit to a shared ledger.
      const isNeeded = opened?.audit.isExporting || opened?.ledger.machine != null ||
        (await opened?.isUnfinished().catch(() => true) ?? true);
      const isStillIdle = (this.#entries.get(id)?.used_at ?? before) < before;
      if (!isNeeded && isStillIdle) await this.close(id);
    }
  }
}
