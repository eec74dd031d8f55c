import { GateError } from "../errors.ts";
import type { ConfigView } from "./schema.ts";

/** The configuration in force for one project; read again whenever a file has changed. */
export class Config {
  view(): Promise<ConfigView> {
    throw new GateError("internal", "not built yet");
  }
}
