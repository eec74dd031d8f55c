import { join } from "node:path";
import { loadConfig } from "./load.ts";
import { GlobalConfig } from "./schema.ts";

/** `approvals.proof` of the global config; null when it is absent or the file is broken. */
export function configuredProof(home: string): "token" | "passphrase" | "passkey" | null {
  return loadConfig(join(home, "config.json"), GlobalConfig).value?.approvals?.proof ?? null;
}
