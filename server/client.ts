import { hc } from "hono/client";
import type { Api } from "./api.ts";
import type { Problem } from "./errors.ts";

export type { Problem } from "./errors.ts";

/** The address of a daemon and a credential. */
export interface ClientOptions {
  url: string;
  token?: string;
  /** A page key, sent as `X-Gate-Key`. */
  key?: string;
  /** The project of every call, sent as `?project=`. */
  project?: string;
  /** Replaces the global `fetch`, for example to use a unix socket. */
  fetch?: Fetch;
}

type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

/** The typed client of the HTTP API, for the CLI, the dashboard and MCP. */
export function createClient(options: ClientOptions) {
  const headers: Record<string, string> = {};
  if (options.token) headers["Authorization"] = `Bearer ${options.token}`;
  if (options.key) headers["X-Gate-Key"] = options.key;
  const { project, fetch } = options;
  return hc<Api>(options.url, { headers, fetch: project ? withProject(project, fetch) : fetch });
}

function withProject(project: string, send: Fetch = fetch): Fetch {
  return (input, init) => {
    if (input instanceof Request) return send(input, init);
    const url = new URL(input);
    if (!url.searchParams.has("project")) url.searchParams.set("project", project);
    return send(url, init);
  };
}

export type Client = ReturnType<typeof createClient>;

/** An error answer of the API, with its problem document. */
export class ProblemError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = "ProblemError";
    this.problem = problem;
  }
}

interface JsonResponse<T> {
  ok: boolean;
  status: number;
  json(): Promise<T>;
}

/** The body of a successful answer. @throws ProblemError for any other answer */
export async function unwrap<T>(answer: Promise<JsonResponse<T>>): Promise<T> {
  const response = await answer;
  if (response.ok) return await response.json();
  const body = await response.json().catch(() => null) as Problem | null;
  throw new ProblemError(body?.code ? body : fallbackProblem(response.status));
}

function fallbackProblem(status: number): Problem {
  const detail = `The daemon answered ${status} without saying why`;
  return { type: "about:blank", title: "Unexpected answer", status, detail, code: "internal" };
}
