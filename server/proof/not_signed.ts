/** A challenge or an action is not what was shown or asked for, so nothing was signed. */
export class NotSigned extends Error {
  constructor(why: string) {
    super(`Cannot sign the decision: ${why}; another program may answer in the daemon's place`);
    this.name = "NotSigned";
  }
}
