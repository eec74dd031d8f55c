import type { AuditEvent, Checkpoint, EvidenceVerification } from "./schema.ts";
import { readLine } from "./bundle.ts";
import { hashedText, type Head } from "./chain.ts";
import {
  ChainCheck,
  checkCheckpoints,
  checkHead,
  checkProofs,
  type Problem,
  type ProofsCheck,
  type SignedBy,
} from "./check.ts";

/** An audit log in a file. */
export interface Evidence {
  checkpoint: Checkpoint;
  checkpoints: readonly Checkpoint[];
  /** The events in order, one line each, in pages. */
  pages: AsyncIterable<string[]>;
  /** Writes an event as a line of this file. */
  toLine: (event: AuditEvent) => string;
}

/** A key or a checkpoint that the reader has from another source. */
export interface Known {
  public_key?: string;
  checkpoint?: Head & { project_id?: string };
}

/** The cryptography, which differs between runtimes and browsers. */
export interface Prover {
  /** Lowercase hex of the SHA-256 of a text. */
  sha256: (text: string) => string | Promise<string>;
  isSigned: SignedBy["isSigned"];
  /** A new check for this file: it remembers the keys that the events name. */
  proofs: ProofsCheck;
  /** Receives the valid events in order, in pages. */
  hear?: (events: AuditEvent[]) => void;
}

/** Checks every event and signature of a file, and compares it with what the reader knows. */
export async function verifyEvidence(
  evidence: Evidence,
  known: Known,
  prover: Prover,
): Promise<EvidenceVerification> {
  const { checkpoint } = evidence;
  const { project_id, public_key } = checkpoint;
  const checkpoints = [...evidence.checkpoints, checkpoint];
  const chain = new ChainCheck(project_id, [
    ...checkpoints,
    ...known.checkpoint ? [known.checkpoint] : [],
  ]);
  const { times, proof_problem } = await walk(evidence, chain, prover);
  const problem = chain.problem ?? checkHead(chain.head, checkpoint) ??
    await checkCheckpoints(checkpoints, chain, { public_key, isSigned: prover.isSigned }) ??
    checkProjects(checkpoints, project_id) ?? checkKnown(known, evidence, chain) ??
    proof_problem;
  return {
    ok: problem === null,
    project_id,
    events: chain.head.seq,
    checkpoints: evidence.checkpoints.length,
    head: chain.head.seq > 0 ? chain.head : null,
    problem,
    ...times,
    public_key,
    compared_with: [
      ...known.public_key === undefined ? [] : ["key" as const],
      ...known.checkpoint === undefined ? [] : ["checkpoint" as const],
    ],
  };
}

async function walk(evidence: Evidence, chain: ChainCheck, prover: Prover) {
  const times: { from: string | null; to: string | null } = { from: null, to: null };
  let proof_problem: Problem | null = null;
  for await (const lines of evidence.pages) {
    const events = lines.map((line) => readLine(line, evidence.toLine));
    const hashes = await Promise.all(events.map((event) => hashOf(event, prover)));
    const fitting = events.findIndex((event, at) => !chain.add(event, hashes[at]!));
    const good = (fitting < 0 ? events : events.slice(0, fitting)) as AuditEvent[];
    times.from ??= good[0]?.at ?? null;
    times.to = good.at(-1)?.at ?? times.to;
    proof_problem ??= await checkProofs(good, prover.proofs);
    prover.hear?.(good);
    if (chain.problem) break;
  }
  return { times, proof_problem };
}

async function hashOf(event: AuditEvent | null, { sha256 }: Prover): Promise<string> {
  if (event === null) return "";
  try {
    return await sha256(hashedText(event));
  } catch {
    // Nested too deeply for a canonical form, so the gate did not write it.
    return "";
  }
}

function checkProjects(checkpoints: readonly Checkpoint[], project_id: string): Problem | null {
  const stray = checkpoints.find((checkpoint) => checkpoint.project_id !== project_id);
  if (!stray) return null;
  return {
    seq: stray.seq,
    what: `the checkpoint at event ${stray.seq} belongs to another project`,
  };
}

function checkKnown(
  { public_key, checkpoint }: Known,
  evidence: Evidence,
  { head, hashes }: ChainCheck,
): Problem | null {
  if (public_key !== undefined && public_key !== evidence.checkpoint.public_key) {
    return { seq: null, what: "it was signed with another key than the one you gave" };
  }
  if (checkpoint === undefined) return null;
  const { seq, hash, project_id = evidence.checkpoint.project_id } = checkpoint;
  if (project_id !== evidence.checkpoint.project_id) {
    return { seq: null, what: `the checkpoint you gave belongs to project "${project_id}"` };
  }
  if (seq > head.seq) return checkHead(head, checkpoint);
  if (seq === 0 || hashes.get(seq) === hash) return null;
  return { seq, what: `event ${seq} differs from the checkpoint you gave` };
}
