import type { Config } from "../config/config.ts";
import type { Environment } from "../environment.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Bus } from "../events/bus.ts";
import type { SeenFiles } from "../runtime/file_image.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** What the actions of one project work with; made in `Project` and nowhere else. */
export interface ActionServices {
  project_id: string;
  /** Real paths of the project's folders; never empty, the first is the main one. */
  roots: readonly string[];
  environment: Environment;
  ledger: Ledger;
  config: Config;
  sessions: Sessions;
  bus: Bus;
  /** For views, never for decisions. */
  seen: SeenFiles;
}

/** Now, as it stands in records. */
export function timestamp(environment: Environment, later_ms = 0): string {
  return new Date(environment.now() + later_ms).toISOString();
}
