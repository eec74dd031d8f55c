import type { Logins } from "./auth/login.ts";
import type { Caller } from "./auth/schema.ts";
import type { Daemon } from "./daemon.ts";
import type { LazyMcp } from "./mcp/lazy_mcp.ts";
import type { EventReaders } from "./events/readers.ts";
import type { Project } from "./projects/project.ts";

/** Everything the gate takes from outside itself, so that tests can hand in their own. */
export interface Environment {
  /** The data folder, `~/.gate` unless `GATE_HOME` says otherwise. */
  home: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** A new unique id (UUID v7). */
  id: () => string;
  /** One line of the daemon's log. */
  log: (
    level: "info" | "warn" | "error",
    message: string,
    fields?: Record<string, unknown>,
  ) => void;
  /** Called at each step between a decision and its end; only crash tests give one. */
  fault?: (step: string) => void | Promise<void>;
}

/** What the guard hands to the router along with a request. */
export interface AppBindings {
  /** Who calls; null on the routes that ask for no credential. */
  caller: Caller | null;
  /** The body, read and checked; undefined when there is none. */
  json: unknown;
}

/** What each Hono handler finds in `c.env` and `c.var`. */
export interface AppEnv {
  Bindings: Partial<AppBindings>;
  Variables: {
    daemon: Daemon;
    caller: Caller;
    logins: Logins;
    readers: EventReaders;
    project: Project;
    mcp: LazyMcp;
  };
}
