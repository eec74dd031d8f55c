import { GateError } from "../errors.ts";
import { type Clocks, createNonce } from "./challenges.ts";
import { COSE_ALGORITHMS, publicKeyOf } from "./public_key.ts";
import { RP_ID } from "./record_check.ts";
import type { Proof, SetProofInput } from "./schema.ts";

/** A person has this long to touch the authenticator. */
const REGISTRATION_MS = 5 * 60_000;
const MAX_REGISTRATIONS = 32;
const MAX_TOGETHER = 64;

type Registration = Extract<SetProofInput, { kind: "passkey" }>["registration"];

/** A registered passkey: its id, its COSE key in base64url and its signature counter. */
export interface Passkey {
  key_id: string;
  public_key: string;
  counter: number;
}

/** Registers passkeys and checks their answers, for pages at this daemon's address. */
export class Passkeys {
  readonly #clocks: Clocks;
  readonly #origin: string;
  /** The challenges of registrations that have begun. */
  readonly #begun = new Map<string, number>();
  /** The challenges that answers for several approvals signed. Each nonce still counts once. */
  readonly #together = new Set<string>();

  constructor(clocks: Clocks, port: number) {
    this.#clocks = clocks;
    this.#origin = `http://localhost:${port}`;
  }

  /** The options for `navigator.credentials.create`. */
  async begin(member_id: string) {
    const { generateRegistrationOptions } = await library();
    const nonce = createNonce();
    this.#begun.set(nonce, this.#clocks.elapsed());
    for (const oldest of this.#begun.keys()) {
      if (this.#begun.size <= MAX_REGISTRATIONS) break;
      this.#begun.delete(oldest);
    }
    return await generateRegistrationOptions({
      rpName: "gate",
      rpID: RP_ID,
      userName: member_id,
      challenge: new Uint8Array(Buffer.from(nonce, "base64url")),
      attestationType: "none",
      authenticatorSelection: { residentKey: "preferred", userVerification: "required" },
      supportedAlgorithmIDs: COSE_ALGORITHMS,
      timeout: REGISTRATION_MS,
    });
  }

  /** The passkey that a registration creates. @throws GateError `invalid` */
  async register(registration: Registration): Promise<Passkey> {
    const { verifyRegistrationResponse } = await library();
    try {
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: registration as Parameters<typeof verifyRegistrationResponse>[0]["response"],
        expectedChallenge: (challenge) => this.#hasBegun(challenge),
        expectedOrigin: this.#origin,
        expectedRPID: RP_ID,
        requireUserVerification: true,
        supportedAlgorithmIDs: COSE_ALGORITHMS,
      });
      if (!verified) throw new Error("its attestation is not valid");
      const { id, publicKey, counter } = registrationInfo.credential;
      const public_key = Buffer.from(publicKey).toString("base64url");
      if (publicKeyOf({ kind: "passkey", public_key }) === null) {
        throw new Error("its kind of key is not supported");
      }
      return { key_id: id, public_key, counter };
    } catch (error) {
      throw new GateError(
        "invalid",
        `Cannot register the passkey: ${(error as Error).message}; ` +
          "open gate dashboard and try again",
      );
    }
  }

  /** Forgets the challenge of a registration that is complete. */
  end({ response }: Registration): void {
    const { challenge } = JSON.parse(
      Buffer.from(response.clientDataJSON, "base64url").toString(),
    );
    this.#begun.delete(String(challenge));
  }

  /**
   * The new counter of a passkey that signed the challenge; null when it did not. An answer that
   * covers several approvals comes with each of them, and its counter is compared once.
   */
  async check(
    { webauthn, together }: Extract<Proof, { kind: "passkey" }>,
    { key_id, public_key, counter }: Passkey,
    challenge: string,
  ): Promise<number | null> {
    const { verifyAuthenticationResponse } = await library();
    try {
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: webauthn,
        expectedChallenge: challenge,
        expectedOrigin: this.#origin,
        expectedRPID: RP_ID,
        requireUserVerification: true,
        credential: {
          id: key_id,
          publicKey: new Uint8Array(Buffer.from(public_key, "base64url")),
          counter: this.#together.has(challenge) ? 0 : counter,
        },
      });
      if (!verified) return null;
      if (together) this.#noteTogether(challenge);
      return authenticationInfo.newCounter;
    } catch {
      // The library throws for everything that a client can get wrong.
      return null;
    }
  }

  #noteTogether(challenge: string): void {
    this.#together.add(challenge);
    for (const oldest of this.#together) {
      if (this.#together.size <= MAX_TOGETHER) break;
      this.#together.delete(oldest);
    }
  }

  #hasBegun(challenge: string): boolean {
    const begun = this.#begun.get(challenge);
    return begun !== undefined && this.#clocks.elapsed() - begun <= REGISTRATION_MS;
  }
}

// Loaded at the first passkey: a daemon without one starts as fast as before.
function library() {
  return import("@simplewebauthn/server");
}
