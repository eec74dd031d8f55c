import type { Caller } from "../auth/schema.ts";
import { requireReviewer } from "../auth/scopes.ts";
import type { Ledger } from "../db/ledger.ts";
import type { Environment } from "../environment.ts";
import { GateError } from "../errors.ts";
import { digestOf } from "../proof/digest.ts";
import type { Proofs } from "../proof/proofs.ts";
import type { Block, UnblockInput } from "./schema.ts";
import { restoreBlocks } from "./lifts.ts";
import { findBlock, liftBlock, listActiveBlocks } from "./store.ts";

/** The services of one project that blocks need. */
export interface BlockServices {
  ledger: Ledger;
  environment: Environment;
  /** Asks a person for a proof: a lifted block lets more happen. */
  proofs: Pick<Proofs, "require" | "judge">;
}

/** The active blocks of a project, newest first. */
export async function listBlocks(services: BlockServices): Promise<Block[]> {
  const { ledger } = services;
  await restoreBlocks(services);
  return await listActiveBlocks(ledger);
}

/** Lifts a block, so that its session may submit again. @throws GateError `forbidden`, `not_found`, `conflict` */
export async function unblock(
  services: BlockServices,
  id: string,
  { reason }: UnblockInput,
  caller: Caller,
): Promise<Block> {
  requireReviewer(caller, "lift the block", "gate session unblock");
  const { ledger, environment, proofs } = services;
  await restoreBlocks(services);
  const block = await requireBlock(ledger, id);
  const asked = { block_id: id };
  const proof = await proofs.require(caller, {
    ...{ verb: "lift_block", project_id: ledger.project_id, action_id: null },
    ...{ digest: digestOf(asked), head: ledger.head.hash },
  });
  const by = {
    at: new Date(environment.now()).toISOString(),
    who: caller.id,
    lift_id: environment.id(),
  };
  const { update, when } = liftBlock(block, by);
  const { events } = await ledger.commit({
    statements: [update],
    when,
    events: [{
      session_id: block.session_id,
      action_id: block.action_id,
      type: "block.removed",
      actor: { kind: "reviewer", id: caller.id },
      data: { block_id: id, reason: reason ?? null, ...proof && { asked, proof } },
    }],
  });
  if (events.length === 0) {
    throw new GateError("conflict", `Cannot lift block "${id}": it has been lifted already`);
  }
  return await requireBlock(ledger, id);
}

async function requireBlock(ledger: Ledger, id: string): Promise<Block> {
  const found = /^[0-9a-f-]{36}$/.test(id) ? await findBlock(ledger, id) : null;
  if (found) return found;
  const shown = JSON.stringify(id.toWellFormed().slice(0, 100));
  throw new GateError(
    "not_found",
    `Cannot find block ${shown} in this project: see gate session blocks`,
  );
}
