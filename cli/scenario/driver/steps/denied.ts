import { type HttpExchange, isSuccess } from "../../execute/http.ts";
import { failed, inconclusive, type Verdict } from "../../execute/verdict.ts";
import { hasPrivateMember, isEmptyList, isListed } from "../compare.ts";
import type { PlaybookStep } from "../playbook_schema.ts";

type Answers = ReadonlyMap<string, HttpExchange>;

/** The statuses of a service that denies access to a record of somebody else. */
const DENIALS = [401, 403, 404];

/** The verdict on a request that must be denied; null when it was. */
export function judgeDenied(
  step: PlaybookStep,
  what: string,
  { status, body }: HttpExchange,
  answers: Answers,
): Verdict | null {
  if (step.exists && status === 404) return inconclusive(`Proves nothing: ${what} found no record`);
  if (DENIALS.includes(status!)) return null;
  if (!isSuccess(status)) {
    return inconclusive(`Proves nothing: ${what} was answered ${status}, for another reason`);
  }
  // A list may leave out the records of others instead of refusing.
  if (step.method === "GET" && !step.forge && isEmptyList(body)) {
    return inconclusive(`Cannot tell: ${what} was answered ${status} with an empty list`);
  }
  const shared = step.guarded && reasonToShare(step.guarded, body, answers);
  if (shared) return inconclusive(`Cannot tell: ${what} was answered ${status}, but ${shared}`);
  return failed(`${what} was answered ${status} instead of 401, 403 or 404`);
}

/** Why a record that another identity reads may be meant for everybody; null for a private one. */
function reasonToShare(
  { record, list, open_list, parent, by_address }: NonNullable<PlaybookStep["guarded"]>,
  body: string,
  answers: Answers,
): string | null {
  const of = (name: string | undefined) => name === undefined ? undefined : answers.get(name);
  const read = of(record);
  if (read && !isSuccess(read.status)) return null;
  const shown = read?.body ?? body;
  const open = of(open_list);
  if (open && isSuccess(open.status) && isListed(shown, open.body)) {
    return `"${open_list}" shows the record without a login`;
  }
  if (hasPrivateMember(shown)) return null;
  const listed = of(list);
  if (listed && isSuccess(listed.status)) {
    return isListed(shown, listed.body) ? `"${list}" shows the record to everybody` : null;
  }
  const above = of(parent);
  if (by_address || (above && DENIALS.includes(above.status!))) return null;
  return "nothing shows that the record is private";
}
