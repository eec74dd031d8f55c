import type { Effect, Rule } from "./schema.ts";

/** A rule of a list, before its pattern is compiled for its subject. */
export interface CompiledRule {
  rule: Rule;
  effect: Effect;
  reason: string;
  alternative: string | null;
}

/** A path as it was asked for (absolute, `..` folded) and as it is (links resolved as far as it exists). */
export interface PathFacts {
  lexical: string;
  real: string;
}

/** What the decision depends on besides the rules; policy/ itself does no I/O. */
export interface Surroundings {
  /** Real paths of the project's folders. */
  roots: readonly string[];
  /** The user's home folder. */
  user_home: string;
  /** The gate's own data folder. */
  gate_home: string;
  port: number;
  /** The daemon's process, where it is known. */
  daemon_pid?: number;
  /** Looks a path up on disk. */
  resolve: (path: string) => PathFacts;
  /** The text of a script of the project's task file (`npm run build`), where there is one. */
  script?: (name: string, cwd: string) => string | null;
}
