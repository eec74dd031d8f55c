import type { Io } from "../io.ts";

/** What the scenario tool takes from outside itself. */
export interface ScenarioIo extends Io {
  version: string;
  /** Ends a whole process group for good; one that is gone already is no error. */
  killGroup: (pid: number) => void;
}
