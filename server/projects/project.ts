import type { Actions } from "../actions/actions.ts";
import type { Audit } from "../audit/audit.ts";
import type { Config } from "../config/config.ts";
import { GateError } from "../errors.ts";
import type { PolicyTestInput, PolicyTestResult } from "../policy/schema.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** One registered project with its ledger open: the only place where its services are made. */
export class Project {
  readonly id!: string;
  readonly roots!: string[];
  readonly actions!: Actions;
  readonly sessions!: Sessions;
  readonly audit!: Audit;
  readonly config!: Config;

  testPolicy(input: PolicyTestInput): Promise<PolicyTestResult> {
    return this.config.test(input);
  }

  close(): Promise<void> {
    throw new GateError("internal", "not built yet");
  }
}
