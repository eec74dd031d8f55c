/** One request to the daemon over its socket, as `gate hook` and `gate prompt` send it. */
export interface WireRequest {
  socket: string;
  method: "GET" | "POST";
  target: string;
  token: string;
  /** JSON text. */
  body?: string;
  timeout_ms: number;
}

export interface WireAnswer {
  status: number;
  /** By their names in lower case. */
  headers: Map<string, string>;
  body: string;
}

/** Somebody is there, but says nothing. */
export class SilentError extends Error {
  constructor() {
    super("the daemon does not answer");
    this.name = "SilentError";
  }
}

/** Nobody is there. */
export class NobodyError extends Error {
  constructor(cause: unknown) {
    super("the daemon does not run", { cause });
    this.name = "NobodyError";
  }
}

/** No answer is longer than this: what is, comes from no daemon of ours. */
export const MAX_ANSWER = 4 * 1024 * 1024;
