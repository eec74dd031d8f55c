/** How this machine builds sandboxes. */
export interface SandboxEngine {
  name: "bubblewrap" | "landlock" | "seatbelt";
  /** The program that builds them; of Landlock the program that restricts itself. */
  path: string;
  version: string;
  /** It can hide or keep single files of a project. */
  can_mask: boolean;
}

/** The clock, ids, data folder and log of one gate. Tests pass their own. */
export interface Environment {
  /** The data folder: `GATE_HOME`, by default `~/.gate`. */
  home: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Milliseconds of a clock that nobody can set; only tests pass their own. */
  uptime?: () => number;
  /** A new unique id (UUID v7). */
  id: () => string;
  /** Writes one line to the daemon's log. */
  log: (
    level: "info" | "warn" | "error",
    message: string,
    fields?: Record<string, unknown>,
  ) => void;
  /** Writes one line to the system's journal; missing where there is none, and in tests. */
  journal?: (line: string) => void;
  /** Finds the engine that runs commands in a sandbox, once; missing if none may be used. */
  sandbox?: () => Promise<SandboxEngine | null>;
  /** Runs at each step between a decision and its end; only crash tests set it. */
  fault?: (step: string) => void | Promise<void>;
}
