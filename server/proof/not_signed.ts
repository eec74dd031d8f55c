/** A challenge or an action is not what was shown or asked for, so nothing was signed. */
export class NotSigned extends Error {
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
