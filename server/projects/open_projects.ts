import { GateError } from "../errors.ts";
import type { Project } from "./project.ts";

/** More ledgers than this are kept open only while they are in use. */
const MOST_IDLE = 64;

/**
 * A call waits for its decision five minutes at most: after six, none can still be at work. An
 * export can; a ledger that is read for one stays open.
 */
const IDLE_MS = 6 * 60 * 1000;

export interface Opening {
  /** Opens the project of that id. @throws GateError */
  open: (id: string) => Promise<Project>;
  /** Hears that a project was closed, and whether something in it waits to be gone on with. */
  closed: (id: string, isLeft: boolean) => Promise<void>;
  failed: (id: string, error: unknown) => void;
  now: () => number;
}

interface Entry {
  project: Promise<Project>;
  used_at: number;
}

/** The projects whose ledgers are open: each is opened once, and closed when nobody needs it. */
export class OpenProjects {
  readonly #opening: Opening;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Map<string, Promise<void>>();
  #closed = false;

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  /** The project, opened unless it is open. @throws GateError `not_found`, `unavailable` */
  get(id: string): Promise<Project> {
    if (this.#closed) {
      return Promise.reject(
        new GateError("unavailable", "Cannot open a project: gate is ending; try again"),
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

  /** Closes one project; opening it again waits for that. */
  async close(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (entry) this.#closing.set(id, this.#shut(id, entry.project));
    await this.#closing.get(id);
  }

  /** Closes all for good; one that cannot be closed well does not keep the others open. */
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

  /** What is held or being done keeps a project open, so that it can expire and be finished. */
  async #closeIdle(): Promise<void> {
    const before = this.#opening.now() - IDLE_MS;
    const idle = [...this.#entries].filter(([, { used_at }]) => used_at < before)
      .toSorted(([, a], [, b]) => a.used_at - b.used_at)
      .slice(0, Math.max(0, this.#entries.size - MOST_IDLE));
    for (const [id, { project }] of idle) {
      const opened = await project.catch(() => null);
      const isNeeded = opened?.audit.isExporting ||
        (await opened?.isUnfinished().catch(() => true) ?? true);
      const isStillIdle = (this.#entries.get(id)?.used_at ?? before) < before;
      if (!isNeeded && isStillIdle) await this.close(id);
    }
  }
}
