/** An error of gate's own code whose message explains the cause to a person. */
export class ExplainedError extends Error {}
