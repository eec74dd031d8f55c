import type { Controls } from "../execute/controls.ts";
import { nameOf } from "../generate/family.ts";
import { isLoginPath } from "../generate/names.ts";
import type { Operation } from "../generate/operation.ts";
import { orderForRehearsal, readsRecord } from "./order.ts";
import { Rehearsal, type RehearsalOptions } from "./rehearsal.ts";

/** The operations with what the rehearsal learned, and how each was answered. */
export interface Learned {
  operations: Operation[];
  controls: Controls;
}

/**
 * Sends every operation before the run until one answer is a 2xx: with values of `--value`, of the
 * logins and of earlier answers. Returns the operations with the samples that succeeded.
 */
export async function learnOperations(
  operations: Operation[],
  options: RehearsalOptions,
): Promise<Learned> {
  const rehearsal = new Rehearsal(options);
  const { lists, harmless, ending } = orderForRehearsal(operations);
  for (const operation of harmless) {
    if (readsRecord(operation)) await rehearsal.rereadLists(lists);
    await rehearsal.learn(operation);
  }
  // The later operations may have shown a missing value, and the ending ones may delete it.
  await retryUnlearned(harmless, rehearsal);
  for (const operation of ending) await rehearsal.learn(operation);
  await retryUnlearned(harmless, rehearsal);
  await rehearsal.replaceDeleted();
  const all = [...operations, ...await rehearsal.findUnlisted(operations)];
  const is_public =
    all.every(({ path, security }) => security.length === 0 && !isLoginPath(path)) &&
    await rehearsal.needsNoLogin();
  return {
    operations: all.map((one) => ({ ...rehearsal.learnedFor(one), is_public })),
    controls: new Map(all.map((one) => [nameOf(one), rehearsal.controlOf(one)])),
  };
}

async function retryUnlearned(
  operations: readonly Operation[],
  rehearsal: Rehearsal,
): Promise<void> {
  for (const operation of operations) {
    if (!rehearsal.hasLearned(operation) && !rehearsal.isLoggedOut) {
      await rehearsal.learn(operation);
    }
  }
}
