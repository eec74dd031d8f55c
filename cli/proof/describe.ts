import type { EnrolledKey, ProofKind, ProofStatus } from "../../server/proof/schema.ts";
import { placeOf } from "../place.ts";
import type { Io } from "../io.ts";
import { visibleLine } from "../terminal/visible.ts";
import { quote } from "../../server/shown/quote.ts";
import { memoryPath } from "../witness/memory.ts";

/** The kind of proof, and what it means for a decision. */
export function describeProof({ kind, open }: Pick<ProofStatus, "kind" | "open">): string {
  return `${kind}: ${open ? OPEN : KINDS[kind]}`;
}

const OPEN = "the daemon runs with --auth none, so whoever reaches its port can approve";

const KINDS: Record<ProofKind, string> = {
  none: "nothing can be approved until a person sets a passphrase or a passkey",
  token: "any program of this user can approve, with the reviewer's token",
  passphrase: "every approval needs the passphrase",
  passkey: "every approval needs the passkey, in the dashboard",
};

/** A key with its owner and its time, on one line. */
export function describeKey({ kind, key_id, member_id, created_at, role }: EnrolledKey): string {
  const rights = role === undefined
    ? ""
    : `, with the rights of ${role === "admin" ? "an" : "a"} ${role}`;
  const since = `${created_at.slice(0, 16).replace("T", " ")}Z`;
  return `${visibleLine(member_id)} set a ${kind} on ${since} (key ${
    key_id.slice(0, 16)
  })${rights}`;
}

/** How a person gets rid of a key that another program enrolled, or of a forgotten one. */
export function takeBack(io: Io): string {
  const { home } = placeOf(io);
  const old = quote(`${home}.taken`);
  return [
    "  If it was not you, another program has taken this home. If you forgot the passphrase, nobody",
    "  can recover it. In both cases begin with an empty home:",
    `    gate daemon stop; mv ${quote(home)} ${old} && rm -f ${
      quote(memoryPath(io))
    } && gate proof set`,
    "  Then run gate init and gate config accept in each project. The old ledgers stay in",
    `  ${old}. The removed file holds what terminals remember of them.`,
  ].join("\n");
}
