import { endsLogin, type Operation } from "../generate/operation.ts";

/** The groups of operations, in the order in which the rehearsal sends them. */
export interface RehearsalOrder {
  /** Lists, which show the ids of records. */
  lists: Operation[];
  /** Every operation that leaves logins, users and the service as they are; lists come first. */
  harmless: Operation[];
  /** Operations that may delete records, end a login or stop the service. */
  ending: Operation[];
}

/** Sorts the operations for the rehearsal; leaves out logouts and reads that reset data. */
export function orderForRehearsal(operations: readonly Operation[]): RehearsalOrder {
  const sorted = operations.filter((one) => !endsLogin(one) && !resetsData(one))
    .sort((a, b) => rankOf(a) - rankOf(b));
  return {
    lists: sorted.filter((one) => rankOf(one) === RANK.list),
    harmless: sorted.filter((one) => rankOf(one) < RANK.ending),
    ending: sorted.filter((one) => rankOf(one) === RANK.ending),
  };
}

/** True for a read that changes data: it would take the records that the run needs. */
export function resetsData({ method, changes }: Operation): boolean {
  return isRead(method) && changes === true;
}

/** True for an operation that reads a record in its path. */
export function readsRecord(operation: Operation): boolean {
  return rankOf(operation) === RANK.record;
}

/** Lists come first, because they show ids. Operations that make records come before changes. */
const RANK = { list: 0, creation: 1, record: 2, change: 3, ending: 4 } as const;

/** Parts of paths that may end logins, lock users or stop the service. */
const ENDING =
  /(change|reset|update)-?_?password|password$|sessions?$|maintenance|deactivate|inactive|disable|shut-?down|restart|lock|log-?out|revoke/i;

function rankOf({ method, path }: Operation): number {
  // A request that may end a login or stop the service must not cost the others their turn.
  if (method === "DELETE" || (!isRead(method) && ENDING.test(path))) return RANK.ending;
  if (path.includes("{")) return isRead(method) ? RANK.record : RANK.change;
  if (isRead(method)) return RANK.list;
  return method === "POST" ? RANK.creation : RANK.change;
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
