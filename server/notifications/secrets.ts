import { statSync } from "node:fs";
import { faultOfUrl } from "../config/notifications/schema.ts";
import { ownEnvironment, ownUid } from "../runtime/self.ts";
import { readSmallFile } from "../runtime/small_file.ts";

const MAX_BYTES = 16_384;

/** Why nothing can be sent to a receiver; a person must mend it. */
export class ReceiverProblem extends Error {}

/** Where a secret stands: the name of a variable of the daemon, or a file that only its owner reads. */
export interface SecretPlace {
  env?: string | undefined;
  file?: string | undefined;
}

/** The secret, without the blanks around it. @throws ReceiverProblem */
export function readSecret({ env, file }: SecretPlace): string {
  if (env !== undefined) {
    const value = ownEnvironment()[env]?.trim() ?? "";
    if (value !== "") return value;
    throw new ReceiverProblem(
      `the daemon has no variable "${env}"; set it where the daemon starts, or use a file`,
    );
  }
  const path = file!;
  try {
    const { uid, mode } = statSync(path);
    if (ownUid() !== null && (uid !== ownUid() || (mode & 0o077) !== 0)) {
      throw new ReceiverProblem(`others may read or own "${path}"; run: chmod 600 "${path}"`);
    }
    const value = readSmallFile(path, MAX_BYTES).trim();
    if (value !== "") return value;
  } catch (error) {
    if (error instanceof ReceiverProblem) throw error;
    const { code = "not a readable text file" } = error as { code?: string };
    throw new ReceiverProblem(`"${path}" cannot be read: ${code}`);
  }
  throw new ReceiverProblem(`"${path}" is empty`);
}

/** An address that is a secret. @throws ReceiverProblem */
export function readSecretUrl(place: SecretPlace): URL {
  const text = readSecret(place);
  const fault = faultOfUrl(text);
  if (fault !== null) {
    throw new ReceiverProblem(`"${place.env ?? place.file}" holds no usable address: ${fault}`);
  }
  return new URL(text);
}
