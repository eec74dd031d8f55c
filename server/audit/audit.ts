import { GateError } from "../errors.ts";
import type { AuditVerification, Checkpoint } from "./schema.ts";

/** Reads and proves the audit chain of one project. */
export class Audit {
  verify(): Promise<AuditVerification> {
    throw new GateError("internal", "not built yet");
  }
  checkpoint(): Promise<Checkpoint> {
    throw new GateError("internal", "not built yet");
  }
}
