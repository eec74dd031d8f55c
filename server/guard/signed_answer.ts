import type { PageKeys } from "../auth/login.ts";
import { ANSWER_HEADER, NONCE, NONCE_HEADER } from "../auth/prove_daemon.ts";
import type { RawRequest } from "../runtime/serve.ts";
import { valuesOf } from "./origin.ts";

/**
 * Signs the answer to a request that brought a page key and a nonce. Between the end of a daemon and
 * the moment in which a page notices it, another program can answer; the page takes no such answer.
 */
export function signAnswer<Holder>(
  answer: Response,
  { headers, port }: Pick<RawRequest, "headers" | "port">,
  keys: PageKeys<Holder>,
): Response {
  const [nonce, ...more] = valuesOf(headers, NONCE_HEADER);
  const [key] = valuesOf(headers, "x-gate-key");
  const [host] = valuesOf(headers, "host");
  if (port === null || !nonce || more.length > 0 || !NONCE.test(nonce) || !key) return answer;
  const signature = keys.signAnswer(key, nonce, `http://${host}`);
  if (signature !== null) answer.headers.set(ANSWER_HEADER, signature);
  return answer;
}
