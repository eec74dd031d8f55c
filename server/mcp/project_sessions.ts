import { LRUCache } from "lru-cache";
import { hostOfClient } from "../hosts/hosts.ts";
import type { Detected, Undetected } from "../projects/detect.ts";
import type { ProcessIdentity } from "../runtime/processes.ts";
import type { DaemonLink } from "./daemon_link.ts";

/** The name that a client gave when it connected. */
export interface ClientInfo {
  name: string;
  version: string;
}

/** The project of a call, and the session that records it. */
export interface Place extends Detected {
  session_id: string;
  /** The secret of the session. */
  session: string;
}

/** A session that this connection opened. */
interface Opened {
  id: string;
  secret: string;
}

export interface SessionsOptions {
  link: DaemonLink;
  now: () => number;
  client: () => ClientInfo | undefined;
  /** The process whose end leaves the sessions to a later one; null when nobody can tell. */
  identity: () => ProcessIdentity | null;
  /** Finds the project of a call. */
  locate: (argument?: string, meta?: Record<string, unknown>) => Promise<Detected | Undetected>;
}

const OPENING_MS = 10_000;
const MAX_SESSIONS = 64;
const MAX_SECRETS = 10_000;

/** One session for each connection and project folder, opened by the first call. */
export class ProjectSessions {
  readonly #options: SessionsOptions;
  readonly #open = new LRUCache<string, Promise<Opened>>({ max: MAX_SESSIONS });
  /** The secrets of the sessions opened so far, by the actions that were submitted in them. */
  readonly #secrets = new LRUCache<string, string>({ max: MAX_SECRETS });

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The place of a call, with an open session. */
  async find(argument?: string, meta?: Record<string, unknown>): Promise<Place | Undetected> {
    const found = await this.#options.locate(argument, meta);
    if ("reason" in found) return found;
    const { id, secret } = await this.#session(found);
    return { ...found, session_id: id, session: secret };
  }

  /** Notes the session of an action, so that later calls about the action can prove it. */
  note(action_id: string, secret: string): void {
    this.#secrets.set(action_id, secret);
  }

  /** The secrets that may belong to an action's session, the likeliest first. */
  async secretsFor(action_id: string): Promise<string[]> {
    const known = this.#secrets.get(action_id);
    if (known !== undefined) return [known];
    const opened = await Promise.allSettled([...this.#open.values()]);
    return opened.flatMap((one) => one.status === "fulfilled" ? [one.value.secret] : []);
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
      const { id, secret } = await session;
      await this.#options.link.call(
        (client) => client.api.sessions[":id"].end.$post({ param: { id } }),
        { project, until, session: secret },
      );
    }));
  }

  #session(found: Detected): Promise<Opened> {
    const key = keyOf(found);
    const known = this.#open.get(key);
    if (known) return known;
    const opening = this.#openSession(found);
    this.#open.set(key, opening);
    opening.catch(() => this.#open.delete(key));
    return opening;
  }

  async #openSession({ project_id, root, rule, home_project }: Detected): Promise<Opened> {
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
            home_project,
            process: this.#options.identity() ?? undefined,
          },
        }),
      { project: project_id, until: this.#options.now() + OPENING_MS },
    );
    return { id: session.id, secret: session.session_secret };
  }
}

function keyOf({ project_id, root, home_project = "" }: Detected): string {
  return `${project_id}\0${root}\0${home_project}`;
}

function cut(text: string): string {
  return text.slice(0, 256) || "unknown";
}
