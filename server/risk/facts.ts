import type { RiskSettings } from "../policy/risk_weights.ts";
import type { Analysis, Decision, RiskFactor } from "../policy/schema.ts";

/** One thing that makes an action risky, before the factors are weighed against each other. */
export interface Cause {
  name: RiskFactor;
  why: string;
}

/** One access to a file. */
export interface FileAccess {
  access: "read" | "write" | "delete";
  /** Absolute. */
  path: string;
  /** As people see it. */
  shown: string;
}

/** The state of a file, as far as its risk depends on it. */
export interface FileFacts {
  sha256: string;
  bytes: number;
  mode: number | null;
}

/** One planned change. The texts are null if they are unknown, binary or too long to search. */
export interface ChangeFacts {
  path: string;
  shown: string;
  before: FileFacts | null;
  after: FileFacts | null;
  new_text: string | null;
  /** Read only if the new text is worth comparing. */
  oldText: () => string | null;
}

/** The known facts about the session and the project at the moment of the action. */
export interface Circumstances {
  /** A secret that the session has read. */
  secret_read: string | null;
  /** A program or tool that the project has never seen before. */
  first_time: string | null;
  outside_hours: boolean;
  /** The actions of the session in the last minute, if they are unusually many. */
  burst: number | null;
}

/** Everything that the risk of an action depends on. */
export interface RiskFacts {
  tool: string;
  /** Of a tool that the gate only records. */
  input: Record<string, unknown>;
  /** The tool belongs to another program, and nothing else is known about its call. */
  is_foreign: boolean;
  accesses: readonly FileAccess[];
  changes: readonly ChangeFacts[];
  command: string | null;
  cwd: string | null;
  root: string;
  user_home: string;
  analysis: Analysis | null;
  decision: Pick<Decision, "effect" | "rule" | "reason">;
  /** Why a rollback could not restore the old state. */
  irreversible: string | null;
  circumstances: Circumstances;
  settings: RiskSettings;
}

/** The circumstances of an action about whose session nothing is known. */
export const NO_CIRCUMSTANCES: Circumstances = {
  secret_read: null,
  first_time: null,
  outside_hours: false,
  burst: null,
};
