import { LRUCache } from "lru-cache";
import { hostOfClient } from "../hosts/hosts.ts";
import type { Detected, Undetected } from "../projects/detect.ts";
import type { DaemonLink } from "./daemon_link.ts";

/** The name that a client gave when it connected. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** The project of a call, and the session that records it. */
export interface Place extends Detected {
  session_id: string;
}

export interface SessionsOptions {
  link: DaemonLink;
  now: () => number;
  client: () => ClientInfo | undefined;
  /** Finds the project of a call. */
  locate: (argument?: string, meta?: Record<string, unknown>) => Promise<Detected | Undetected>;
}

const OPENING_MS = 10_000;
const MAX_SESSIONS = 64;

/** One session for each connection and project folder, opened by the first call. */
export class ProjectSessions {
  readonly #options: SessionsOptions;
  readonly #open = new LRUCache<string, Promise<string>>({ max: MAX_SESSIONS });

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The place of a call, with an open session. */
  async find(argument?: string, meta?: Record<string, unknown>): Promise<Place | Undetected> {
    const found = await this.#options.locate(argument, meta);
    if ("reason" in found) return found;
    return { ...found, session_id: await this.#session(found) };
  }

  /** Forgets the session of a place, because the daemon no longer has it. */
  forget(place: Place): void {
    this.#open.delete(keyOf(place));
  }

  /** Ends every session. The daemon ends those that cannot be ended in time. */
  async end(until: number): Promise<void> {
    const opened = [...this.#open.entries()];
    this.#open.clear();
    await Promise.allSettled(opened.map(async ([key, session]) => {
      const project = key.slice(0, key.indexOf("\0"));
      const id = await session;
      await this.#options.link.call(
        (client) => client.api.sessions[":id"].end.$post({ param: { id } }),
        { project, until },
      );
    }));
  }

  #session(found: Detected): Promise<string> {
    const key = keyOf(found);
    const known = this.#open.get(key);
    if (known) return known;
    const opening = this.#openSession(found);
    this.#open.set(key, opening);
    opening.catch(() => this.#open.delete(key));
    return opening;
  }

  async #openSession({ project_id, root, rule }: Detected): Promise<string> {
    const { name, version } = this.#options.client() ?? { name: "unknown", version: "" };
    const host = hostOfClient(name) ?? "unknown";
    const session = await this.#options.link.call(
      (client) =>
        client.api.sessions.$post({
          json: {
            agent: cut(host === "unknown" ? name : host),
            host,
            client: cut(`${name} ${version}`.trim()),
            root,
            detected_by: rule,
          },
        }),
      { project: project_id, until: this.#options.now() + OPENING_MS },
    );
    return session.id;
  }
}

function keyOf({ project_id, root }: Detected): string {
  return `${project_id}\0${root}`;
}

function cut(text: string): string {
  return text.slice(0, 256) || "unknown";
}
