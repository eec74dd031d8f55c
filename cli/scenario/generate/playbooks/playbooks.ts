import type { Draft } from "../family.ts";
import type { Operation } from "../operation.ts";
import { negativeAmounts } from "./amounts.ts";
import { grantedOnCreate } from "./grants.ts";
import { injections } from "./injection.ts";
import { forgedTokens } from "./tokens.ts";
import { adminOnly, existenceLeak, foreignList, foreignRecord, foreignValue } from "./foreign.ts";
import { pagination } from "./lists.ts";
import { enumeration, staleToken } from "./logins.ts";
import { sameKeyAtOnce, sameKeyForTwo, sameKeyTwice } from "./keys.ts";
import { doubleAction, putTwice, sameTwice } from "./repeats.ts";
import { replayedRecording } from "./recording.ts";
import { resourcesOf } from "./resource.ts";
import { unknownRecord, unlistedMethods } from "./unknown.ts";
import {
  failedWrite,
  lostUpdate,
  massAssignment,
  privilegedCreate,
  useAfterDelete,
} from "./writes.ts";

/** Scenarios of several requests. Each has a `playbook` that runs without a model. */
export function playbookDrafts(
  operations: Operation[],
  identities: readonly string[] = [],
): Draft[] {
  const foreign = resourcesOf(operations).flatMap(foreignRecord);
  const guarded = new Set(foreign.map(({ operation }) => operation));
  return [
    ...foreign,
    ...operations.filter((one) => !guarded.has(one))
      .flatMap((one) => foreignValue(one, identities)),
    ...resourcesOf(operations).flatMap((resource) => [
      ...useAfterDelete(resource),
      ...privilegedCreate(resource),
      ...foreignList(resource),
      ...existenceLeak(resource),
      ...failedWrite(resource),
      ...lostUpdate(resource),
      ...putTwice(resource),
      ...doubleAction(resource),
      ...unknownRecord(resource),
    ]),
    ...operations.flatMap((operation) => [
      ...adminOnly(operation),
      ...sameKeyTwice(operation),
      ...sameKeyForTwo(operation),
      ...sameKeyAtOnce(operation),
      ...sameTwice(operation),
      ...massAssignment(operation, operations),
      ...pagination(operation, operations),
      ...injections(operation),
      ...grantedOnCreate(operation, operations),
      ...negativeAmounts(operation),
    ]),
    ...forgedTokens(operations),
    ...enumeration(operations),
    ...staleToken(operations),
    ...replayedRecording(operations),
    ...unlistedMethods(operations),
  ];
}
