import { startAuthentication, startRegistration, WebAuthnError } from "@simplewebauthn/browser";
import { toBase64Url, utf8 } from "../../server/proof/encoding.ts";
import { ExplainedError } from "../../server/proof/explained_error.ts";
import type { Challenge, EnrolledKey, Proof } from "../../server/proof/schema.ts";
import { statementOf, statementTogether } from "../../server/proof/statement.ts";

/** Browsers use a passkey on this host name only, not on an IP address. */
const RP_ID = "localhost";

type RegistrationOptions = Parameters<typeof startRegistration>[0]["optionsJSON"];
type Registration = Awaited<ReturnType<typeof startRegistration>>;

/** Why this page cannot use a passkey; null when it can. */
export function whyNoPasskey(): string | null {
  if (location.hostname !== RP_ID) {
    return `A passkey works at http://localhost:${location.port} only. ` +
      "Run gate dashboard, which opens that address.";
  }
  return "PublicKeyCredential" in globalThis ? null : "This browser has no passkeys.";
}

/** Creates a passkey. @throws ExplainedError */
export async function createPasskey(options: unknown): Promise<Registration> {
  try {
    return await startRegistration({ optionsJSON: options as RegistrationOptions });
  } catch (error) {
    throw new ExplainedError(explainPasskey(error), { cause: error });
  }
}

/**
 * Signs challenges with one answer of the passkey, and returns a proof for each.
 * @throws ExplainedError
 */
export async function signWithPasskey(
  { key_id }: EnrolledKey,
  challenges: readonly Challenge[],
): Promise<readonly Proof[]> {
  const hashes = await Promise.all(challenges.map((one) => sha256(statementOf(one))));
  const isOne = hashes.length === 1;
  try {
    const webauthn = await startAuthentication({
      optionsJSON: {
        challenge: isOne ? hashes[0]! : await sha256(statementTogether(hashes)),
        rpId: RP_ID,
        allowCredentials: [{ id: key_id, type: "public-key" }],
        userVerification: "required",
      },
    });
    const shared = { kind: "passkey", key_id, webauthn, ...!isOne && { together: hashes } };
    return challenges.map(({ nonce }) => ({ ...shared, nonce }) as Proof);
  } catch (error) {
    throw new ExplainedError(explainPasskey(error), { cause: error });
  }
}

async function sha256(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))));
}

function explainPasskey(error: unknown): string {
  const cause = error instanceof WebAuthnError ? error.cause : error;
  const name = (cause as { name?: string } | null)?.name;
  if (name === "NotAllowedError") {
    return "The passkey was not used: you cancelled, or took too long.";
  }
  if (name === "InvalidStateError") return "This passkey is enrolled already.";
  if (name === "SecurityError") return whyNoPasskey() ?? "The browser refuses passkeys here.";
  return `The passkey cannot be used: ${error instanceof Error ? error.message : String(error)}`;
}
