import type { Cause } from "../facts.ts";
import { secrecyOf } from "../paths.ts";
import { type Call, one, type Row } from "./call.ts";

/** Programs that show secrets or variables. */
export const SECRETS_SHOWN: readonly Row[] = [
  [
    /^(op|pass|bw|gopass|security|secret-tool|sops|age|gpg|gpg2|ansible-vault|keyring|chamber|doppler|infisical|aws-vault|lpass|envchain)$/,
    secretToolCauses,
  ],
  [/^(printenv|env|export|set)$/, printingEnvCauses],
];

function secretToolCauses(call: Call): Cause[] {
  return /\b(get|read|show|export|find-generic-password|dump|cat|item|decrypt|-d|--decrypt|--export-secret-keys|ls)\b/
      .test(call.text)
    ? one("private_key_read", `${call.program} shows secrets`)
    : one("local_history", `${call.program} works on secrets`);
}

function printingEnvCauses(call: Call): Cause[] {
  return call.words.length === 0
    ? one("interpreter", "prints the variables, which may hold secrets")
    : [];
}

/** Whether the path names a file of secrets, or a folder of them. */
export function isSecret(path: string): boolean {
  if (path === "" || path.length > 400 || !/[./~]/.test(path)) return false;
  return secrecyOf(path) !== null || secrecyOf(`${path.replace(/\/$/, "")}/x`) === "private";
}
