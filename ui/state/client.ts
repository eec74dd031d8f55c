import { type Client, createClient, ProblemError, unwrap } from "../../server/client.ts";
import { distrust, forgetKey, provenKey } from "./auth.ts";

export { ProblemError, unwrap };

/**
 * The typed HTTP client with this page's key, for one project or for none. It sends the key only to
 * a daemon that has proved itself.
 */
export function api(project?: string): Client {
  return createClient({
    url: location.origin,
    project,
    fetch: send,
  });
}

/** Explains a failed request: the daemon's message, or that the daemon cannot be reached. */
export function explain(error: unknown): string {
  if (error instanceof ProblemError) return error.problem.detail;
  return "The daemon cannot be reached. Nothing was sent; try again when the footer says live.";
}

async function send(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const headers = new Headers(init?.headers);
  headers.set("X-Gate-Key", await provenKey());
  try {
    const options: RequestInit = { ...init, headers, credentials: "omit", redirect: "error" };
    const response = await fetch(input, options);
    if (response.status === 401) forgetKey();
    return response;
  } catch (error) {
    distrust();
    throw error;
  }
}
