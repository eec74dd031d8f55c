import type { Forgery } from "../../driver/forge.ts";
import { type Draft, nameOf } from "../family.ts";
import { type Operation, sampleRequest } from "../operation.ts";
import { tell } from "./resource.ts";

const KINDS: { forge: Forgery; what: string; how: string }[] = [
  { forge: "signature", what: "a changed signature", how: "The signature is not checked" },
  { forge: "none", what: 'the algorithm "none"', how: "The token chooses that nobody signs it" },
  { forge: "weak_key", what: "a key that can be guessed", how: "The key is on every list" },
  { forge: "expired", what: "an end that has passed", how: "The time in the token is not read" },
  {
    forge: "audience",
    what: "another audience",
    how: "A token for another service of the same house is taken",
  },
  {
    forge: "endless",
    what: "an age of one year and no end",
    how: "The token names no end, and nobody asks how old it is",
  },
];

/** The login of `--as` as a token that nobody issued. */
export function forgedTokens(operations: Operation[]): Draft[] {
  const reads = operations.filter((one) => one.method === "GET" && one.security.length > 0);
  const read = reads.find((one) => one.learned && !one.path.includes("{")) ??
    reads.find((one) => one.learned);
  if (!read) return [];
  const as = read.learned?.as ?? "alice";
  const request = sampleRequest(read);
  return KINDS.map(({ forge, what, how }) =>
    tell(read, {
      family: `forged_token_${forge}`,
      title: `Calling ${nameOf(read)} with a token that has ${what}`,
      who: "A user opens the own token, changes it and sends it back.",
      preconditions: ["A login that is a JSON Web Token (--as)"],
      steps: [`Send ${nameOf(read)} with the token`, `Send it with ${what}`],
      chaos: [how],
      expected: "A token that the service did not issue is refused.",
      failures: ["A user becomes anybody, an administrator too"],
      priority: "critical",
    }, {
      identities: [as],
      steps: [
        { ...request, name: "with the login", as, setup: true, expect: ["2xx"] },
        // Where nobody is asked for a login, a forged one proves nothing.
        { ...request, name: "without a login", as: "nobody", setup: true, expect: [401, 403] },
        { ...request, name: `with ${what}`, as, forge, denied: true },
      ],
    })
  );
}
