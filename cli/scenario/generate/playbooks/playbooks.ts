import type { Draft } from "../family.ts";
import type { Operation } from "../operation.ts";
import type { Try } from "../tries.ts";
import { oddAmounts } from "./amounts.ts";
import { callBack } from "./call_back.ts";
import { foreseenNumbers } from "./foreseen.ts";
import { grantedOnCreate } from "./grants.ts";
import { injections } from "./injection.ts";
import { forgedTokens } from "./tokens.ts";
import {
  adminOnly,
  existenceLeak,
  foreignField,
  foreignList,
  foreignRecord,
  foreignValue,
  usersOf,
} from "./foreign.ts";
import { pagination } from "./lists.ts";
import { codeLimit, enumeration, loginLimit, staleToken } from "./logins.ts";
import { sameKeyAtOnce, sameKeyForTwo, sameKeyTwice } from "./keys.ts";
import { foreignReference } from "./references.ts";
import { ownRole } from "./own_role.ts";
import { promptInjection } from "./prompts.ts";
import { doubleAction, putTwice, sameTwice } from "./repeats.ts";
import { unknownRecipient } from "./recipients.ts";
import { replayedRecording } from "./recording.ts";
import { resourcesOf } from "./resource.ts";
import { unevenRights } from "./rights.ts";
import { slowPattern } from "./slow_pattern.ts";
import { slowSql } from "./slow_sql.ts";
import { spendRace } from "./spend.ts";
import { unknownRecord, unlistedMethods } from "./unknown.ts";
import { pageAsPicture } from "./uploads.ts";
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
  tries: readonly Try[] = [],
): Draft[] {
  const users = usersOf(identities);
  const foreign = resourcesOf(operations).flatMap((one) => foreignRecord(one, users, operations));
  const guarded = new Set(foreign.map(({ operation }) => operation));
  return [
    ...foreign,
    ...operations.filter((one) => !guarded.has(one))
      .flatMap((one) => foreignValue(one, identities, operations)),
    ...operations.flatMap((one) => foreignField(one, identities, operations)),
    ...operations.flatMap((one) => foreignReference(one, identities)),
    ...resourcesOf(operations).flatMap((resource) => [
      ...useAfterDelete(resource),
      ...privilegedCreate(resource),
      ...foreignList(resource, users),
      ...existenceLeak(resource, users),
      ...failedWrite(resource),
      ...lostUpdate(resource),
      ...putTwice(resource),
      ...doubleAction(resource),
      ...unknownRecord(resource),
    ]),
    ...operations.flatMap((operation) => [
      ...adminOnly(operation, users),
      ...sameKeyTwice(operation),
      ...sameKeyForTwo(operation),
      ...sameKeyAtOnce(operation),
      ...sameTwice(operation),
      ...massAssignment(operation, operations),
      ...pagination(operation, operations),
      ...injections(operation),
      ...grantedOnCreate(operation, operations),
      ...oddAmounts(operation),
      ...unknownRecipient(operation),
      ...callBack(operation),
      ...pageAsPicture(operation),
      ...unevenRights(operation, operations),
      ...foreseenNumbers(operation),
      ...ownRole(operation, operations),
      ...spendRace(operation, operations, identities),
      ...promptInjection(operation),
    ]),
    ...(tries.includes("slow-sql") ? operations.flatMap(slowSql) : []),
    ...(tries.includes("slow-pattern") ? operations.flatMap(slowPattern) : []),
    ...(tries.includes("login-limit") ? [...loginLimit(operations), ...codeLimit(operations)] : []),
    ...forgedTokens(operations),
    ...enumeration(operations),
    ...staleToken(operations),
    ...replayedRecording(operations),
    ...unlistedMethods(operations),
  ];
}
