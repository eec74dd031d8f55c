import type { Io } from "../io.ts";

/** What the scenario tool takes from outside itself. */
export interface ScenarioIo extends Io {
  /** The release, for `--version`. */
  version: string;
}
