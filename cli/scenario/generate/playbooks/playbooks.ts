import type { Draft } from "../family.ts";
import type { Operation } from "../operation.ts";
import { adminOnly, existenceLeak, foreignList, foreignRecord } from "./foreign.ts";
import { pagination } from "./lists.ts";
import { staleToken } from "./logins.ts";
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
export function playbookDrafts(operations: Operation[]): Draft[] {
  return [
    ...resourcesOf(operations).flatMap((resource) => [
      ...useAfterDelete(resource),
      ...privilegedCreate(resource),
      ...foreignRecord(resource),
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
    ]),
    ...staleToken(operations),
    ...replayedRecording(operations),
    ...unlistedMethods(operations),
  ];
}
