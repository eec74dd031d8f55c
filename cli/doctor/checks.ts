import { checkConfigs, checkInstructions } from "./config.ts";
import { checkDaemon, checkPort, checkVersions } from "./daemon.ts";
import { checkHome, checkSecrets } from "./home.ts";
import { checkHooks } from "./hooks.ts";
import { checkHosts, checkOldEntries } from "./hosts.ts";
import { checkLedgers } from "./ledgers.ts";
import type { CheckContext } from "./context.ts";
import { explain } from "../errors.ts";
import { Findings } from "./findings.ts";
import { checkProof } from "./proof.ts";
import { checkBlocks, checkQuotas, checkSeen } from "./record.ts";
import { checkSandbox } from "./sandbox.ts";
import type { Finding } from "../../server/doctor/schema.ts";
import { checkService } from "./service.ts";
import { checkClock, checkDisk } from "./system.ts";

/** One check. It reports at least one line, and starts and changes nothing. */
export interface Check {
  /** The first word of its lines. */
  name: string;
  run: (context: CheckContext, found: Findings) => void | Promise<void>;
}

/** Every check, in the order of the report. */
export const CHECKS: readonly Check[] = [
  { name: "version", run: checkVersions },
  { name: "home", run: checkHome },
  { name: "tokens", run: checkSecrets },
  { name: "disk", run: checkDisk },
  { name: "clock", run: checkClock },
  { name: "sandbox", run: checkSandbox },
  { name: "daemon", run: checkDaemon },
  { name: "port", run: checkPort },
  { name: "proof", run: checkProof },
  { name: "service", run: checkService },
  { name: "ledgers", run: checkLedgers },
  { name: "record", run: checkSeen },
  { name: "blocks", run: checkBlocks },
  { name: "quotas", run: checkQuotas },
  { name: "config", run: checkConfigs },
  { name: "hosts", run: checkHosts },
  { name: "hooks", run: checkHooks },
  { name: "old entries", run: checkOldEntries },
  { name: "instructions", run: checkInstructions },
];

/** Runs all checks. A check that throws is a problem, and the others go on. */
export async function runChecks(context: CheckContext): Promise<Finding[]> {
  const all: Finding[] = [];
  for (const { name, run } of CHECKS) {
    const found = new Findings(name);
    try {
      await run(context, found);
    } catch (error) {
      const { message, next } = explain(error);
      found.fail(`it could not be checked: ${message}`, next ?? "gate daemon logs");
    }
    all.push(...found.list);
  }
  return all;
}
