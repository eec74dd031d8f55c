import { join } from "node:path";
import { loadConfig } from "./load.ts";
import { GlobalConfig } from "./schema.ts";

/** `approvals.proof` of the global config; null when it is absent or the file is broken. */
export function configuredProof(home: string): "token" | "passphrase" | "passkey" | null {
  return approvalsOf(home)?.proof ?? null;
}

/** `approvals.unlock_seconds` of the global config; null without a limit. */
export function configuredUnlock(home: string): number | null {
  return approvalsOf(home)?.unlock_seconds ?? null;
}

/** `approvals.type_to_confirm` of the global config: the lowest risk that asks for it; null for none. */
export function configuredConfirmation(home: string): "high" | "critical" | null {
  return approvalsOf(home)?.type_to_confirm ?? null;
}

/** Whether the global config, accepted or not, names a server for the ledgers. */
export function namesServer(home: string): boolean {
  return configOf(home)?.storage !== undefined;
}

function approvalsOf(home: string): GlobalConfig["approvals"] {
  return configOf(home)?.approvals;
}

function configOf(home: string): GlobalConfig | null {
  return loadConfig(join(home, "config.json"), GlobalConfig).value;
}
