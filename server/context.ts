import type { Caller } from "./auth/schema.ts";
import type { Daemon } from "./daemon.ts";
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

/** What each Hono handler finds in `c.var`. */
export interface AppEnv {
  Variables: {
    daemon: Daemon;
    caller: Caller;
    project: Project;
  };
}
