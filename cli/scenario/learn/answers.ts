import { objectsOf } from "../driver/compare.ts";
import { type HttpExchange, isSuccess } from "../execute/http.ts";
import { isLoginPath } from "../generate/names.ts";
import type { Operation } from "../generate/operation.ts";

/** A 2xx, the redirect that the document names, or the one that leads on from a form. */
export function succeeds(operation: Operation, { status, headers }: HttpExchange): boolean {
  const isRedirect = status !== null && status >= 300 && status < 400;
  if (!isRedirect || operation.statuses.includes(status)) return isSuccess(status);
  const location = headers.find(([name]) => name.toLowerCase() === "location")?.[1];
  return location !== undefined && [302, 303].includes(status) && leadsOn(operation, location);
}

/** The address of a redirect with which a service refuses a request. */
const REFUSING_ADDRESS = /error|fail|invalid|denied|forbidden|unauthori[sz]ed|expired/i;

const FORM = /^(multipart\/form-data|application\/x-www-form-urlencoded)/i;

/** True where a form was taken: the redirect leads neither back to it nor to a login or an error. */
function leadsOn({ method, path, body }: Operation, location: string): boolean {
  if (
    method !== "POST" || !FORM.test(body?.content_type ?? "") || REFUSING_ADDRESS.test(location)
  ) {
    return false;
  }
  const plainPath = (text: string) => text.replace(/[?#].*$/s, "").replace(/\/$/, "");
  const to = plainPath(location.replace(/^https?:\/\/[^/]*/i, ""));
  // A registration or a logout leads to the login page; other forms lead there only without a login.
  const isMeant = /(register|sign-?up|log-?out|sign-?out)\/?$/i.test(path);
  return !`/${to}`.endsWith(`/${plainPath(path).replace(/^\//, "")}`) &&
    (isMeant || !isLoginPath(to));
}

/** True for a GET whose short answer says that it changed something. */
export function saysItChanged({ method }: Operation, { status, body }: HttpExchange): boolean {
  if (method !== "GET") return false;
  return status === 201 || (body.length < 300 &&
    /\b(database|data|tables?|state)\b.{0,40}\b(populated|created|deleted|reset|cleared|dropped|seeded)\b/i
      .test(body));
}

const BALANCE = /^(account_?|available_?|current_?|wallet_?)?(balance|credits?|points)$/i;

/** The member of an answer that says how much money somebody has. */
export function balanceIn(body: string): string | undefined {
  for (const one of objectsOf(body)) {
    const found = Object.entries(one).find(([name, value]) =>
      BALANCE.test(name) && Number.isFinite(Number(value)) && Number(value) > 0
    );
    if (found) return found[0];
  }
  return undefined;
}
