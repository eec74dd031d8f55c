/** The things that one attempt needs beside the message. */
export interface Sending {
  /** The id of the message, the same in each attempt. */
  id: string;
  now: number;
  timeout_ms: number;
  signal: AbortSignal;
}
