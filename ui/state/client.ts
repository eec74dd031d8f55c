import { type Client, createClient, ProblemError, unwrap } from "../../server/client.ts";
import { forgetKey, key } from "./auth.ts";

export { ProblemError, unwrap };

/** The typed HTTP client with this page's key, for one project or for none. */
export function api(project?: string): Client {
  return createClient({
    url: location.origin,
    key: key.value ?? undefined,
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
  const response = await fetch(input, { ...init, credentials: "omit", redirect: "error" });
  if (response.status === 401) forgetKey();
  return response;
}
