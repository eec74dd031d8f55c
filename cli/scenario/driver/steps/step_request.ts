import type { HttpRequest } from "../../execute/http.ts";
import { failed, inconclusive, type Verdict } from "../../execute/verdict.ts";
import type { PlaybookStep } from "../playbook_schema.ts";

/** A step, its filled-in request and the identity that sends it. */
export interface StepRequest {
  step: PlaybookStep;
  request: HttpRequest;
  as: string | null;
}

/** The verdict on a step that went wrong: inconclusive for a setup step, which tests nothing. */
export function wentWrong(step: PlaybookStep, reason: string): Verdict {
  return step.setup ? inconclusive(`Could not be set up: ${reason}`) : failed(reason);
}
