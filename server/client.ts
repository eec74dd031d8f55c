import { hc } from "hono/client";
import type { Api } from "./api.ts";
import type { Problem } from "./errors.ts";
import { NotTaken } from "./proof/not_signed.ts";
import type { Challenge, Proof } from "./proof/schema.ts";

export type { Problem } from "./errors.ts";

/** The address of a daemon and a credential. */
export interface ClientOptions {
  url: string;
  token?: string;
  /** A page key, sent as `X-Gate-Key`. */
  key?: string;
  /** The project of every call, sent as `?project=`. */
  project?: string;
  /** The secret of an agent's session, sent as `X-Gate-Session`. */
  session?: string;
  /** Replaces the global `fetch`, for example to use a unix socket. */
  fetch?: Fetch;
  /** Proves a person's presence when the daemon requires it; without it such a request fails. */
  prove?: Prove;
}

/** Signs a challenge with a person's key. It may ask the person first; it throws if they refuse. */
export type Prove = (challenge: Challenge) => Promise<Proof>;

type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

/** The typed client of the HTTP API, for the CLI, the dashboard and MCP. */
export function createClient(options: ClientOptions) {
  const headers: Record<string, string> = {};
  if (options.token) headers["Authorization"] = `Bearer ${options.token}`;
  if (options.key) headers["X-Gate-Key"] = options.key;
  if (options.session) headers["X-Gate-Session"] = options.session;
  const { project, prove } = options;
  const proving = prove ? withProof(prove, options.fetch) : options.fetch;
  return hc<Api>(options.url, {
    headers,
    fetch: project ? withProject(project, proving) : proving,
  });
}

function withProject(project: string, send: Fetch = fetch): Fetch {
  return (input, init) => {
    if (input instanceof Request) return send(input, init);
    const url = new URL(input);
    if (!url.searchParams.has("project")) url.searchParams.set("project", project);
    return send(url, init);
  };
}

/**
 * A `fetch` that repeats a request with a person's proof when the daemon requires one. It signs only
 * a challenge about this request, and throws for any other, and when the proof is not taken.
 */
export function withProof(prove: Prove, send: Fetch = fetch): Fetch {
  return async (input, init) => {
    const answer = await send(input, init);
    const challenge = await challengeIn(answer);
    if (!challenge) return answer;
    // Loaded only here, because most requests need no proof.
    const { checkChallenge } = await import("./proof/check_challenge.ts");
    const asked = { method: init?.method ?? "GET", url: String(input), body: init?.body };
    await checkChallenge(challenge, asked);
    const proof = await prove(challenge);
    if (Date.parse(challenge.expires_at) > Date.now()) return await sendProved(proof);
    // The person took longer than the challenge lives. The key is unlocked now, so the next one is
    // signed in time.
    const later = await send(input, init);
    const next = await challengeIn(later);
    if (!next) return later;
    await checkChallenge(next, asked);
    return await sendProved(await prove(next));

    async function sendProved(given: Proof): Promise<Response> {
      const headers = new Headers(init?.headers);
      headers.set("X-Gate-Proof", encode(given));
      const decided = await send(input, { ...init, headers });
      if (await challengeIn(decided) !== null) throw new NotTaken();
      return decided;
    }
  };
}

/** The challenge of an answer `proof_required`; null for every other answer. */
async function challengeIn(answer: Response): Promise<Challenge | null> {
  if (answer.status !== 403) return null;
  const problem = await answer.clone().json().catch(() => null) as Problem | null;
  if (problem?.code !== "proof_required") return null;
  return (problem["challenge"] ?? null) as Challenge | null;
}

function encode(proof: Proof): string {
  const bytes = new TextEncoder().encode(JSON.stringify(proof));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
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
