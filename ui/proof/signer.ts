import { utf8 } from "../../server/proof/encoding.ts";
import type { SigningKey } from "../../server/proof/signing_key.ts";
import { statementOf } from "../../server/proof/statement.ts";
import type { Signer } from "../state/proof.ts";

/** Signs challenges with the key of a passphrase. */
export function signerOf(key_id: string, key: SigningKey): Signer {
  return {
    key_id,
    async sign(challenge) {
      const statement = utf8(statementOf(challenge));
      const { nonce } = challenge;
      return { kind: "passphrase", key_id, nonce, signature: await key.sign(statement) };
    },
  };
}
