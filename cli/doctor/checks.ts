import { checkConfigs, checkInstructions } from "./config.ts";
import { checkDaemon, checkPort, checkVersions } from "./daemon.ts";
import { checkHome, checkSecrets } from "./home.ts";
import { checkHooks } from "./hooks.ts";
import { checkHosts, checkOldEntries } from "./hosts.ts";
import { checkLedgers } from "./ledgers.ts";
import { Findings, type Patient } from "./patient.ts";
import type { Finding } from "./schema.ts";
import { checkService } from "./service.ts";
import { checkClock, checkDisk } from "./system.ts";

/** One thing that is looked at; it says at least one line, and starts and changes nothing. */
export interface Check {
  /** The first word of its lines. */
  name: string;
  run: (patient: Patient, found: Findings) => void | Promise<void>;
}

/** Every check, in the order of the report. */
export const CHECKS: readonly Check[] = [
  { name: "version", run: checkVersions },
  { name: "home", run: checkHome },
  { name: "tokens", run: checkSecrets },
  { name: "disk", run: checkDisk },
  { name: "clock", run: checkClock },
  { name: "daemon", run: checkDaemon },
  { name: "port", run: checkPort },
  { name: "service", run: checkService },
  { name: "ledgers", run: checkLedgers },
  { name: "config", run: checkConfigs },
  { name: "hosts", run: checkHosts },
  { name: "hooks", run: checkHooks },
  { name: "old entries", run: checkOldEntries },
  { name: "instructions", run: checkInstructions },
];

/** What all of them find; a check that fails itself is a problem, and the others go on. */
export async function runChecks(patient: Patient): Promise<Finding[]> {
  const all: Finding[] = [];
  for (const { name, run } of CHECKS) {
    const found = new Findings(name);
    try {
      await run(patient, found);
    } catch (error) {
      found.fail(`it could not be checked: ${(error as Error).message}`);
    }
    all.push(...found.list);
  }
  return all;
}
