import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as signBytes,
} from "node:crypto";
import { expect } from "vitest";
import type { Challenge, Proof } from "../../../server/proof/schema.ts";
import { statementOf, statementTogether } from "../../../server/proof/statement.ts";
import type { TestGate } from "../../helpers.ts";

type Json = Record<string, unknown>;

/** Sends a request as a reviewer. */
export type Send = (method: string, path: string, body?: unknown) => Promise<Response>;

/** A person with a key, however it is kept. */
export interface Person {
  readonly key_id: string;
  /** The public key as the daemon enrols it, in base64url. */
  readonly public_key: string;
  /** Body of `POST /api/proof/set`. */
  enrolment(send: Send): Promise<Json>;
  sign(challenge: Challenge): Proof;
}

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest();
const base64url = (data: Uint8Array | string) => Buffer.from(data).toString("base64url");

/** A person with a passphrase. scrypt is left out: the daemon only sees the key that it gives. */
export function withPassphrase(): Person {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const public_key = publicKey.export({ format: "jwk" }).x!;
  const key_id = base64url(sha256(Buffer.from(public_key, "base64url")));
  const input = {
    kind: "passphrase",
    public_key,
    salt: base64url(randomBytes(16)),
    scrypt: { N: 131072, r: 8, p: 1 },
  };
  return {
    key_id,
    public_key,
    enrolment: () => Promise.resolve(input),
    sign: (challenge) => ({
      kind: "passphrase",
      key_id,
      nonce: challenge.nonce,
      signature: base64url(signBytes(null, Buffer.from(statementOf(challenge)), privateKey)),
    }),
  };
}

/** The faults that an authenticator may have. */
export interface Faults {
  origin?: string;
  rp_id?: string;
  type?: string;
  /** The bits for user presence (1) and user verification (4). */
  flags?: number;
  counter?: number;
  cross_origin?: boolean;
  statement?: string;
}

export type Algorithm = "ES256" | "Ed25519" | "RS256";

/** A person with an authenticator that counts its signatures. */
export function withPasskey(algorithm: Algorithm = "ES256", faults: Faults = {}) {
  const { publicKey, privateKey } = createKeys(algorithm);
  const id = base64url(randomBytes(32));
  const wrong: Faults = { ...faults };
  let counter = 0;
  const client = (type: string, challenge: string) =>
    Buffer.from(JSON.stringify({
      type: wrong.type ?? type,
      challenge,
      origin: wrong.origin ?? "http://localhost:47999",
      crossOrigin: wrong.cross_origin ?? false,
    }));
  const head = (flags: number) => {
    const bytes = Buffer.alloc(37);
    sha256(wrong.rp_id ?? "localhost").copy(bytes);
    bytes[32] = flags;
    bytes.writeUInt32BE(wrong.counter ?? ++counter, 33);
    return bytes;
  };
  return {
    key_id: id,
    public_key: base64url(coseOf(algorithm, publicKey)),
    wrong,
    async enrolment(send: Send): Promise<Json> {
      const asked = await send("POST", "/api/proof/passkey-options", {});
      expect(asked.status).toBe(200);
      const { challenge } = await asked.json();
      return { kind: "passkey", registration: register(challenge) };
    },
    register,
    sign: (challenge: Challenge): Proof => signAll([challenge])[0]!,
    /** Signs several challenges with one answer. */
    signAll,
  };

  function signAll(challenges: readonly Challenge[]): Proof[] {
    const together = challenges.map((one) => base64url(sha256(statementOf(one))));
    const isOne = challenges.length === 1;
    const whole = isOne ? statementOf(challenges[0]!) : statementTogether(together);
    const webauthn = answer(wrong.statement ?? whole);
    return challenges.map(({ nonce }) => ({
      kind: "passkey",
      key_id: id,
      nonce,
      webauthn,
      ...!isOne && { together },
    }));
  }

  function answer(statement: string) {
    const clientData = client("webauthn.get", base64url(sha256(statement)));
    const data = head(wrong.flags ?? 5);
    const signed = Buffer.concat([data, sha256(clientData)]);
    return {
      id,
      rawId: id,
      type: "public-key" as const,
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(data),
        signature: base64url(
          signBytes(algorithm === "Ed25519" ? null : "sha256", signed, privateKey),
        ),
      },
      clientExtensionResults: {},
    };
  }

  function register(challenge: string): Json {
    const key = coseOf(algorithm, publicKey);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(32);
    const data = Buffer.concat([
      head((wrong.flags ?? 5) | 0x40),
      Buffer.alloc(16),
      length,
      Buffer.from(id, "base64url"),
      key,
    ]);
    const attestation = Buffer.concat([
      Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746159", "hex"),
      Buffer.from([data.length >> 8, data.length & 255]),
      data,
    ]);
    return {
      id,
      rawId: id,
      type: "public-key",
      response: {
        clientDataJSON: base64url(client("webauthn.create", challenge)),
        attestationObject: base64url(attestation),
      },
      clientExtensionResults: {},
    };
  }
}

function createKeys(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === "Ed25519") return generateKeyPairSync("ed25519");
  if (algorithm === "RS256") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function coseOf(algorithm: Algorithm, key: KeyObject): Buffer {
  const { x = "", y = "", n = "" } = key.export({ format: "jwk" });
  const part = (text: string) => Buffer.from(text, "base64url").toString("hex");
  const hex = {
    ES256: () => `a5010203262001215820${part(x)}225820${part(y)}`,
    Ed25519: () => `a4010103272006215820${part(x)}`,
    RS256: () => `a401030339010020590100${part(n)}2143010001`,
  };
  return Buffer.from(hex[algorithm](), "hex");
}

/** Sends requests to a test gate as its reviewer. */
export function sendTo(gate: TestGate): Send {
  return (method, path, body) => gate.request(method, path, body);
}

/** Enrols the person's key; `present` proves it with the key before. */
export async function enrol(send: Send, person: Person, present?: Person): Promise<Response> {
  const body = await person.enrolment(send);
  const first = await send("POST", "/api/proof/set", body);
  if (!present) return first;
  return await send("POST", "/api/proof/set", { ...body, proof: await signed(first, present) });
}

/** The person's proof for the challenge of a refused request. */
export async function signed(refused: Response, person: Person): Promise<Proof> {
  const problem = await refused.json();
  expect({ status: refused.status, code: problem.code }).toEqual({
    status: 403,
    code: "proof_required",
  });
  expect(problem.challenge, problem.detail).toBeDefined();
  return person.sign(problem.challenge);
}

/** Sends a request, signs its challenge and sends it again with the proof. */
export async function prove(
  send: Send,
  person: Person,
  [method, path, body = {}]: [string, string, Json?],
): Promise<Response> {
  const refused = await send(method, path, body);
  return await send(method, path, { ...body, proof: await signed(refused, person) });
}
