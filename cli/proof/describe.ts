import type { EnrolledKey, ProofKind } from "../../server/proof/schema.ts";
import { visibleLine } from "../terminal/visible.ts";

/** What each kind of proof means for a decision. */
export const KINDS: Record<ProofKind, string> = {
  none: "nothing can be approved until a person sets a passphrase or a passkey",
  token: "any program of this user can approve, with the reviewer's token",
  passphrase: "every approval needs the passphrase",
  passkey: "every approval needs the passkey, in the dashboard",
};

/** A key with its owner and its time, on one line. */
export function describeKey({ kind, key_id, member_id, created_at }: EnrolledKey): string {
  const since = `${created_at.slice(0, 16).replace("T", " ")}Z`;
  return `${visibleLine(member_id)} set a ${kind} on ${since} (key ${key_id.slice(0, 16)})`;
}

/** How a person gets rid of a key that another program enrolled. */
export function takeBack(home: string): string {
  const old = `"${home}.taken"`;
  return [
    "  If it was not you, another program has taken this home. Take it back with an empty one:",
    `    gate daemon stop && mv "${home}" ${old} && gate proof set`,
    `  Then run gate init in each project. The old ledgers stay in ${old}.`,
  ].join("\n");
}
