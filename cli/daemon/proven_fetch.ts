import { createChallenge, isProved } from "../../server/auth/prove_daemon.ts";
import type { Fetch } from "../../server/runtime/socket_fetch.ts";
import { CliError } from "../errors.ts";

const BEARER = /^Bearer (.+)$/;
const DEADLINE_MS = 5_000;

/**
 * A `fetch` over a TCP port that sends a token only after the program on the port has proved that it
 * knows the token. Any program can take the port when the daemon ends. @throws CliError
 */
export function createProvenFetch(fetch: Fetch): Fetch {
  return async (input, init) => {
    const given = new Headers(input instanceof Request ? input.headers : init?.headers);
    const token = BEARER.exec(given.get("authorization") ?? "")?.[1];
    const url = new URL(input instanceof Request ? input.url : input);
    if (token !== undefined) await requireDaemon(fetch, url.origin, token);
    return await fetch(input, init);
  };
}

async function requireDaemon(fetch: Fetch, origin: string, token: string): Promise<void> {
  const challenge = await createChallenge(token);
  const answer = await fetch(`${origin}/api/auth/prove-daemon`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(challenge),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const body = await answer.json().catch(() => null);
  if (answer.ok && await isProved(token, challenge, origin, body)) return;
  throw new CliError(
    `Cannot use ${origin}: the program on this port did not prove that it is your daemon, so ` +
      "nothing was sent to it",
    { next: "gate doctor" },
  );
}
