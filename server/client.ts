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
  /** Proves several approvals with one answer of the person; by default one after the other. */
  proveAll?: ProveAll;
}

/** Signs a challenge with a person's key. It may ask the person first; it throws if they refuse. */
export type Prove = (challenge: Challenge) => Promise<Proof>;

/** Signs several challenges, in their order. It may ask the person first; it throws if they refuse. */
export type ProveAll = (challenges: readonly Challenge[]) => Promise<readonly Proof[]>;

type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>;

/** The typed client of the HTTP API, for the CLI, the dashboard and MCP. */
export function createClient(options: ClientOptions) {
  const headers: Record<string, string> = {};
  if (options.token) headers["Authorization"] = `Bearer ${options.token}`;
  if (options.key) headers["X-Gate-Key"] = options.key;
  if (options.session) headers["X-Gate-Session"] = options.session;
  const { project, prove } = options;
  const proving = prove ? withProof(prove, options.fetch, options.proveAll) : options.fetch;
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
 * A `fetch` that repeats a request with a person's proof when the daemon requires one, or with one
 * proof for each of several actions. It signs only challenges about this request, and throws for any
 * other, and when the proof of a single deed is not taken.
 */
export function withProof(
  prove: Prove,
  send: Fetch = fetch,
  proveAll: ProveAll = (challenges) => inTurn(prove, challenges),
): Fetch {
  return async (input, init) => {
    const answer = await send(input, init);
    const asked = await challengesIn(answer);
    if (!asked) return answer;
    const proofs = await sign(asked);
    if (areOpen(asked.challenges)) return await sendProved(proofs);
    // The person took longer than the challenge lives. The key is unlocked now, so the next one is
    // signed in time.
    const later = await send(input, init);
    const next = await challengesIn(later);
    if (!next) return later;
    return await sendProved(await sign(next));

    async function sign({ challenges, isElsewhere }: Asked): Promise<Proofs> {
      // Loaded only here, because most requests need no proof.
      const { checkChallenge } = await import("./proof/check_challenge.ts");
      const request = { method: init?.method ?? "GET", url: String(input), body: init?.body };
      if (!Array.isArray(challenges)) {
        await checkChallenge(challenges, request, { isElsewhere });
        return await prove(challenges);
      }
      const some = challenges.filter((one) => one !== null);
      for (const challenge of some) await checkChallenge(challenge, request);
      const signed = [...await proveAll(some)];
      return challenges.map((challenge) => challenge && (signed.shift() ?? null));
    }

    async function sendProved(given: Proofs): Promise<Response> {
      // A header has no room for several.
      if (Array.isArray(given)) {
        const body = JSON.stringify({ ...JSON.parse(String(init?.body)), proof: given });
        return await send(input, { ...init, body });
      }
      const headers = new Headers(init?.headers);
      headers.set("X-Gate-Proof", encode(given));
      const decided = await send(input, { ...init, headers });
      if (await challengesIn(decided) !== null) throw new NotTaken();
      return decided;
    }
  };
}

interface Asked {
  challenges: Challenges;
  /** Whether another machine that shares the ledger asks for the proof. */
  isElsewhere: boolean;
}

/** The challenge of one deed, or one for each item of a request, null where none is needed. */
type Challenges = Challenge | (Challenge | null)[];
type Proofs = Proof | (Proof | null)[];

async function inTurn(prove: Prove, challenges: readonly Challenge[]): Promise<Proof[]> {
  const proofs: Proof[] = [];
  for (const challenge of challenges) proofs.push(await prove(challenge));
  return proofs;
}

function areOpen(challenges: Challenges): boolean {
  return [challenges].flat().every((one) =>
    one === null || Date.parse(one.expires_at) > Date.now()
  );
}

/** The challenges of an answer `proof_required`; null for every other answer. */
async function challengesIn(answer: Response): Promise<Asked | null> {
  if (answer.status !== 403) return null;
  const problem = await answer.clone().json().catch(() => null) as Problem | null;
  if (problem?.code !== "proof_required") return null;
  const challenges = (problem["challenges"] ?? problem["challenge"] ?? null) as Challenges | null;
  return challenges && { challenges, isElsewhere: typeof problem["machine"] === "string" };
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
