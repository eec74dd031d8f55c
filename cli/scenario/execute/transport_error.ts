/** The `error` of an exchange with a target that accepts no connections. */
export const REFUSED = "the connection was refused";
/** The `error` of an exchange whose connection the target reset. */
export const RESET = "the connection was reset before the answer was whole";
/** The `error` of an exchange whose connection ended in the middle of the body. */
export const CUT_OFF = "the answer was cut off";
/** The `error` of an exchange whose connection ended before its request was sent. */
const UNSENT = "the connection was closed while the request was being sent";

/** The `error` of an exchange without a whole answer in time. */
export function lateAnswer(timeout_ms: number): string {
  return `no whole answer within ${timeout_ms} ms`;
}

/** True for the `error` of an exchange without a whole answer in time. */
export function isLate(error: string | null): boolean {
  return error !== null && /^no whole answer within \d+ ms$/.test(error);
}

/** True for a connection that the target ended. */
export function isEnded(error: string): boolean {
  return error === RESET || error === UNSENT;
}

/** Says in words why there is no whole answer. `status` is that of an answer whose head arrived. */
export function wordsOf(
  { code = "", message }: NodeJS.ErrnoException,
  status: number | null = null,
): string {
  const known = CODES[code];
  if (known !== undefined) return known;
  // OpenSSL and BoringSSL: `error:<number>:SSL routines:<function>:<reason>`.
  const tls = /:SSL routines:\w+:([\w ]+)/.exec(message)?.[1];
  if (tls !== undefined) return `TLS failed: ${tls.toLowerCase().replaceAll("_", " ")}`;
  if (!message.startsWith(PARSER)) return message;
  const mistake = message.slice(PARSER.length);
  if (mistake.startsWith("Expected HTTP/")) {
    return status === null
      ? "the answer is not HTTP/1.1"
      : "more bytes follow than the Content-Length of the answer says";
  }
  const [, words = mistake] = MISTAKES.find(([pattern]) => pattern.test(mistake)) ?? [];
  return `the answer breaks HTTP: ${words}`;
}

const CODES: Record<string, string> = {
  ECONNREFUSED: REFUSED,
  ECONNRESET: RESET,
  EPIPE: UNSENT,
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "no DNS server answers",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "no route leads to the host",
  ENETUNREACH: "no route leads to the network of the host",
  EACCES: "this machine does not allow the connection",
  EMFILE: "this process cannot open more connections (ulimit -n)",
};

/** The beginning of the messages of Node's parser. */
const PARSER = "Parse Error: ";

const MISTAKES: [RegExp, string][] = [
  [/header overflow/i, "its headers are larger than 16 KiB"],
  [/duplicate content-length|content-length can't be present/i, "it has two different lengths"],
  [/content-length/i, "its Content-Length is not a number that fits"],
  [/status/i, "its status is not a number of three digits"],
  [/chunk/i, "the sizes of its chunks are wrong"],
];
