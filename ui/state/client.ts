import { type Client, createClient, ProblemError, unwrap } from "../../server/client.ts";
import { ExplainedError } from "../../server/proof/explained_error.ts";
import { distrust, fetchProven } from "./auth.ts";
import { prove, proveAll } from "./proof.ts";

export { ProblemError, unwrap };

/**
 * The typed HTTP client with this page's key, for one project or for none. It sends the key only to
 * a daemon that has proved itself, takes only answers of that daemon, and asks the person when the daemon requires a proof.
 */
export function api(project?: string): Client {
  return createClient({
    url: location.origin,
    project,
    fetch: send,
    prove: (challenge) => prove(challenge, api()),
    proveAll: (challenges) => proveAll(challenges, api()),
  });
}

/** Explains a failed request: the daemon's message, ours, or that the daemon cannot be reached. */
export function explain(error: unknown): string {
  if (error instanceof ProblemError) return error.problem.detail;
  if (error instanceof ExplainedError) return error.message;
  return "The daemon cannot be reached. Nothing was sent; try again when the footer says live.";
}

async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    return await fetchProven(input, init);
  } catch (error) {
    distrust();
    throw error;
  }
}
