import { describe, expect, test } from "vitest";
import { createClient, ProblemError, unwrap, withProof } from "../../server/client.ts";
import { Proof } from "../../server/proof/schema.ts";

const ID = "0199a1b2-0000-7000-8000-000000000001";
const URL_OF_DAEMON = "http://localhost:47000";
const DIGEST = "a".repeat(64);
const SOON = new Date(Date.now() + 60_000).toISOString();
const FAR = "2999-01-01T00:00:00.000Z";
const PAST = "2000-01-01T00:00:00.000Z";

interface Sent {
  url: string;
  headers: Headers;
  body: unknown;
  proof: Proof | null;
}

/** A daemon that wants a proof of every request, and records what came. */
function strictDaemon(options: { expires?: string[]; action_id?: string; machine?: string } = {}) {
  const sent: Sent[] = [];
  let challenges = 0;
  const fetch = (input: RequestInfo | URL, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    const given = headers.get("x-gate-proof");
    const proof = given && Proof.parse(JSON.parse(Buffer.from(given, "base64url").toString()));
    sent.push({ url: String(input), headers, body: init.body, proof: proof || null });
    if (proof) return Promise.resolve(Response.json({ id: ID }));
    const challenge = {
      nonce: String(challenges).padStart(43, "n"),
      expires_at: options.expires?.[challenges] ?? SOON,
      verb: "approve",
      project_id: null,
      action_id: options.action_id ?? ID,
      digest: DIGEST,
      member_id: "local",
      head: null,
    };
    challenges++;
    const { machine } = options;
    const problem = {
      ...{ status: 403, code: "proof_required", detail: "Cannot approve", challenge },
      ...machine && { machine },
    };
    return Promise.resolve(Response.json(problem, { status: 403 }));
  };
  const approve = (prove?: Parameters<typeof withProof>[0], headers = {}) => {
    const client = createClient({ url: URL_OF_DAEMON, token: "t", fetch, ...prove && { prove } });
    const one = client.api.actions[":id"].approve;
    const args = { param: { id: ID }, json: { expected_digest: DIGEST } };
    return unwrap(one.$post(args, { headers }));
  };
  return { sent, fetch, approve };
}

const signing = (nonces: string[]) => (challenge: { nonce: string }) => {
  nonces.push(challenge.nonce);
  const proof = { kind: "passphrase" as const, key_id: "k".repeat(43), nonce: challenge.nonce };
  return Promise.resolve({ ...proof, signature: "s".repeat(86) });
};

describe("a client with a prover", () => {
  test("repeats the request once, with the proof and everything else unchanged", async () => {
    const { sent, approve } = strictDaemon();
    const nonces: string[] = [];
    await approve(signing(nonces), { "Idempotency-Key": "key-1" });
    expect(sent).toHaveLength(2);
    expect(sent.map(({ proof }) => proof?.nonce ?? null)).toEqual([null, nonces[0]]);
    expect(sent[1]!.body).toBe(sent[0]!.body);
    expect(sent[1]!.url).toBe(sent[0]!.url);
    for (const name of ["idempotency-key", "authorization", "content-type"]) {
      expect(sent[1]!.headers.get(name), name).toBe(sent[0]!.headers.get(name));
    }
  });

  test("asks for a new challenge when the person took longer than the first one lives", async () => {
    const { sent, approve } = strictDaemon({ expires: [PAST, SOON] });
    const nonces: string[] = [];
    await approve(signing(nonces));
    expect(nonces).toHaveLength(2);
    expect(sent.map(({ proof }) => proof?.nonce ?? null)).toEqual([null, null, nonces[1]]);
  });

  test("signs no challenge about another action", async () => {
    const { sent, approve } = strictDaemon({ action_id: `${ID.slice(0, -1)}9` });
    const nonces: string[] = [];
    await expect(approve(signing(nonces))).rejects.toThrow(
      "Cannot sign the decision: the daemon's challenge",
    );
    expect([nonces, sent.length]).toEqual([[], 1]);
  });

  test("signs nothing that could be kept for later", async () => {
    const { sent, approve } = strictDaemon({ expires: [FAR] });
    const nonces: string[] = [];
    await expect(approve(signing(nonces))).rejects.toThrow(
      /expires later than a challenge/,
    );
    expect([nonces, sent.length]).toEqual([[], 1]);
  });

  test("signs the challenge of another machine whose clock is ahead, by a day at most", async () => {
    const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();
    for (const machine of ["laptop", undefined]) {
      const { approve } = strictDaemon({ expires: [hours(20)], ...machine && { machine } });
      const nonces: string[] = [];
      const approved = approve(signing(nonces)).then(() => true, () => false);
      expect([machine, await approved, nonces.length])
        .toEqual([machine, machine !== undefined, machine === undefined ? 0 : 1]);
    }
    const { approve } = strictDaemon({ expires: [hours(30)], machine: "laptop" });
    await expect(approve(signing([]))).rejects.toThrow(
      "it is of a machine whose clock is more than a day ahead; set the clock there",
    );
  });

  test("gives up when the person refuses", async () => {
    const { sent, approve } = strictDaemon();
    await expect(approve(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(sent).toHaveLength(1);
  });
});

test("without a prover the refusal is the answer", async () => {
  const { sent, approve } = strictDaemon();
  const refused = await approve().catch((error) => error);
  expect(refused).toBeInstanceOf(ProblemError);
  expect(refused.problem.code).toBe("proof_required");
  expect(sent).toHaveLength(1);
});

test.each([
  [403, { code: "forbidden", detail: "no" }],
  [403, { code: "proof_required", detail: "nothing is enrolled" }],
  [403, "no JSON"],
  [401, { code: "proof_required", challenge: {} }],
  [200, { code: "proof_required", challenge: {} }],
])("a %i answer %j is passed on", async (status, body) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const send = withProof(
    () => Promise.reject(new Error("nobody asked")),
    () => Promise.resolve(new Response(text, { status })),
  );
  const answer = await send(`${URL_OF_DAEMON}/api/actions/${ID}/approve`, { method: "POST" });
  expect([answer.status, await answer.text()]).toEqual([status, text]);
});
