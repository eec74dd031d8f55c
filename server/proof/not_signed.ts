import { ExplainedError } from "./explained_error.ts";

/** A challenge or an action is not what was shown or asked for, so nothing was signed. */
export class NotSigned extends ExplainedError {
  /** Whether the answers cannot come from the daemon of this person. */
  readonly is_foreign: boolean;

  /** @param next what the person must do; by default nobody knows who answers */
  constructor(why: string, next?: string) {
    const last = next ?? "another program may answer in the daemon's place";
    super(`Cannot sign the decision: ${why}; ${last}`);
    this.name = "NotSigned";
    this.is_foreign = next === undefined;
  }
}

/** The daemon answered a proof of its own challenge with another challenge. */
export class NotTaken extends NotSigned {
  constructor() {
    super("");
    this.message = "Cannot decide: the proof was signed for the daemon's own challenge, and the " +
      "answer is that it does not count; try once more. If it is refused again, another program " +
      "may have taken the daemon's port or socket: give it no passphrase before gate doctor " +
      "finds the daemon";
  }
}
